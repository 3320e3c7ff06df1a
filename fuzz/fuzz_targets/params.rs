//! What must hold of any bytes as COM_STMT_EXECUTE: no panic, values that lie within the packet, and
//! the same values once the types are bound in it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lockstead::protocol::params::{Execute, first_value};

fuzz_target!(|data: &[u8]| {
    let Some((&[how, params, kind, long], payload)) = data.split_first_chunk() else { return };
    let attributes = how & 1 > 0;
    let params = usize::from(params % 20);
    let bound = vec![u16::from(kind) | u16::from(how & 2) << 14; params];
    let bound = if how & 4 > 0 { &bound[..] } else { &[] };
    let long: Vec<_> = (0..8).map(|n| (long & 1 << n > 0).then(|| vec![b'x'; n])).collect();
    let _ = first_value(payload, params, attributes);
    let Some(execute) = Execute::parse(payload, params, bound, &long, attributes) else { return };
    assert!(execute.values.len() == execute.raw.len());
    let ends = execute.raw.iter().chain(execute.attributes.iter().filter_map(|a| a.value.as_ref()));
    assert!(ends.clone().all(|span| span.start <= span.end && span.end <= payload.len()));
    assert!(ends.is_sorted_by_key(|span| span.end), "values out of order");
    if let Some(packet) = execute.with_types(payload, attributes) {
        let again = Execute::parse(&packet, params, &[], &long, attributes).expect("an execution");
        assert_eq!(format!("{:?}", again.values), format!("{:?}", execute.values));
        assert_eq!((again.id, again.flags), (execute.id, execute.flags));
        assert!(again.types.starts_with(&execute.types[..params]));
        assert_eq!(again.with_types(&packet, attributes), None);
    }
});
