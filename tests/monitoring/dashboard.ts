// The types of Grafana's own package, as a JSON file can have them: dev/test-monitoring.sh has the compiler
// check each dashboard against Checked.
import type { Dashboard, DataQuery, DataSourceRef, Panel, RowPanel } from '@grafana/schema';
import type * as stateTimeline from '@grafana/schema/dist/esm/raw/composable/statetimeline/panelcfg/x/StateTimelinePanelCfg_types.gen';
import type * as stat from '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen';
import type * as table from '@grafana/schema/dist/esm/raw/composable/table/panelcfg/x/TablePanelCfg_types.gen';
import type * as timeSeries from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen';

// JSON has the values of enums, not their names.
type Plain<T> = T extends string
  ? `${T}`
  : T extends number | boolean | null | undefined
    ? T
    : T extends Array<infer U>
      ? Array<Plain<U>>
      : T extends object
        ? { [K in keyof T]: Plain<T[K]> }
        : T;

// The package has no type for queries of Prometheus.
interface Query extends Omit<DataQuery, 'datasource'> {
  datasource: DataSourceRef;
  expr: string;
  legendFormat: string;
  editorMode: 'code';
  range: boolean;
  instant: boolean;
  format: 'time_series' | 'table';
}

type Of<Type extends string, Options, Custom> = Omit<Panel, 'type' | 'options' | 'targets' | 'fieldConfig'> & {
  type: Type;
  options: Options;
  targets: Query[];
  fieldConfig: Omit<NonNullable<Panel['fieldConfig']>, 'defaults'> & {
    defaults: Omit<NonNullable<Panel['fieldConfig']>['defaults'], 'custom'> & { custom: Custom };
  };
};

type Any =
  | Of<'stat', stat.Options, Record<string, never>>
  | Of<'timeseries', timeSeries.Options, timeSeries.FieldConfig>
  | Of<'state-timeline', stateTimeline.Options, stateTimeline.FieldConfig>
  | Of<'table', Partial<table.Options>, table.FieldConfig>
  | RowPanel;

export type Checked = Plain<Omit<Dashboard, 'panels'> & { panels: Any[] }>;
