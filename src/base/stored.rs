//! Lists as bytes, for a later run of this program. As numbers they would be written one by one, each with its type.

use bytemuck::{Pod, cast_slice, pod_collect_to_vec};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

/// Writes a list.
///
/// # Errors
///
/// Those of the serializer.
pub(crate) fn serialize<T: Pod, S: Serializer>(list: &[T], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_bytes(cast_slice(list))
}

/// Reads a list.
///
/// # Errors
///
/// Where the bytes are not those of a list.
pub(crate) fn deserialize<'de, T: Pod, D: Deserializer<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    let bytes = <&[u8]>::deserialize(from)?;
    if !bytes.len().is_multiple_of(size_of::<T>()) {
        return Err(D::Error::custom("not the bytes of a list"));
    }
    Ok(pod_collect_to_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    struct Stored(#[serde(with = "super")] Vec<u32>);

    #[test]
    fn lists_are_read_as_they_were() {
        for list in [vec![], vec![7], vec![u32::MAX, 0, 3]] {
            let stored = Stored(list);
            let bytes = rmp_serde::to_vec(&stored).unwrap();
            assert_eq!(rmp_serde::from_slice::<Stored>(&bytes).unwrap(), stored);
        }
    }

    #[test]
    fn other_bytes_are_refused() {
        let text = rmp_serde::to_vec("text of no list").unwrap();
        assert!(rmp_serde::from_slice::<Stored>(&text).is_err());
        let pairs = rmp_serde::to_vec(&Stored(vec![1, 2, 3])).unwrap();
        #[derive(Debug, serde::Deserialize)]
        struct Pairs(#[serde(deserialize_with = "deserialize")] Vec<[u32; 2]>);
        let why = rmp_serde::from_slice::<Pairs>(&pairs).map(|pairs| pairs.0.len()).unwrap_err();
        assert!(why.to_string().contains("not the bytes of a list"), "{why}");
    }
}
