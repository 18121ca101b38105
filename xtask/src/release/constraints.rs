//! Holds managed components at the release's versions.

use super::{ComponentPin, Pins};

/// Text of a constraint file of the component manager: a line such as `espressif/cbor==0.6.0~1` for each version.
///
/// The file is named to it by the environment variable `IDF_COMPONENT_CONSTRAINT_FILES` (idf-component-manager 2.5.2).
pub fn constraints(pins: &Pins) -> String {
    pins.components.iter().filter_map(constraint).collect()
}

/// Managed components that nothing holds: the release recorded no version of theirs.
pub fn unpinned(pins: &Pins) -> Vec<&str> {
    pins.components
        .iter()
        .filter(|component| component.version.is_none())
        .map(|component| component.name.as_str())
        .collect()
}

/// `managed_components/` names a folder `namespace__name`; only the first `__` stands for the slash.
fn constraint(component: &ComponentPin) -> Option<String> {
    let version = component.version.as_ref()?;
    let name = component.name.replacen("__", "/", 1);
    Some(format!("{name}=={version}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::Origin;

    #[test]
    fn versions_become_constraints_and_the_rest_is_listed() {
        let component = |(name, version): (&str, Option<&str>)| ComponentPin {
            name: name.to_owned(),
            version: version.map(str::to_owned),
        };
        let pins = Pins {
            core: None,
            origin: Origin::File { path: "v".into() },
            sources: Vec::new(),
            components: [
                ("espressif__cbor", Some("0.6.0~1")),
                ("espressif__esp32-camera", None),
                ("a__b__c", Some("1.0.0")),
            ]
            .map(component)
            .into(),
        };
        assert_eq!(
            constraints(&pins),
            "espressif/cbor==0.6.0~1\na/b__c==1.0.0\n"
        );
        assert_eq!(unpinned(&pins), ["espressif__esp32-camera"]);
    }
}
