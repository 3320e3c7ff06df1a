# mysql2, alone and below ActiveRecord.
require 'mysql2'

ENVIRONMENT = %w[HOST PORT USER PASSWORD SCHEMA TLS CA FLAVOUR].to_h { |n| [n, ENV["DB_#{n}"]] }

def settings(more = {})
  own = {
    host: ENVIRONMENT['HOST'], port: ENVIRONMENT['PORT'].to_i, username: ENVIRONMENT['USER'],
    password: ENVIRONMENT['PASSWORD'], database: ENVIRONMENT['SCHEMA'], encoding: 'utf8mb4',
    local_infile: true, reconnect: false
  }
  own.merge!(ssl_mode: :verify_identity, sslca: ENVIRONMENT['CA'], sslverify: true) if ENVIRONMENT['TLS'] == 'on'
  own.merge(more)
end

# A session of mysql2's.
class Plain
  attr_reader :raw

  def initialize(more = {})
    flags = []
    flags << 'MULTI_STATEMENTS' if more.delete(:multi)
    flags << 'COMPRESS' if more.delete(:compress)
    @raw = Mysql2::Client.new(settings(more).merge(flags: flags))
  end

  def rows(sql)
    result = @raw.query(sql)
    result ? result.map(&:values) : @raw.affected_rows
  end

  def prepared(sql, *values)
    statement = @raw.prepare(sql)
    result = statement.execute(*values)
    result ? result.map(&:values) : statement.affected_rows
  ensure
    statement&.close
  end

  def stream(sql)
    @raw.query(sql, stream: true, cache_rows: false, as: :array).each { |row| yield row }
  end

  def value(sql, *values)
    (values.empty? ? rows(sql) : prepared(sql, *values))[0][0]
  end

  def close
    @raw.close
  end
end

# A session of ActiveRecord's: one connection of a pool of its own.
class Active
  attr_reader :connection

  def initialize(more = {})
    %i[multi compress].each { |unused| more.delete(unused) }
    require 'active_record'
    @base = Class.new(ActiveRecord::Base) { self.abstract_class = true }
    Object.const_set("Base#{Active.next}", @base)
    @base.establish_connection(settings(more).merge(adapter: 'mysql2', pool: 1, prepared_statements: true))
    @connection = @base.connection
  end

  def self.next
    @next = (@next || 0) + 1
  end

  def rows(sql)
    result = @connection.execute(sql)
    result ? result.map { |r| r.is_a?(Hash) ? r.values : r } : @connection.raw_connection.affected_rows
  end

  def prepared(sql, *values)
    binds = values.map { |v| ActiveRecord::Relation::QueryAttribute.new('', v, ActiveRecord::Type::Value.new) }
    @connection.exec_query(sql, 'SQL', binds, prepare: true).rows
  end

  def value(sql, *values)
    (values.empty? ? rows(sql) : prepared(sql, *values))[0][0]
  end

  def close
    @base.remove_connection
  end
end
