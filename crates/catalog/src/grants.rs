//! Changes of lists of privileges, as PostgreSQL makes them (`acl.c`).

use crate::access::{EVERYBODY, Grant, Privileges};
use crate::snapshot::Catalog;

/// Why a list cannot be changed so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    /// What would be taken away was granted on to others, and is not to be taken away from them.
    #[error("dependent privileges exist")]
    Dependent,
    /// The right to grant would go back to who has it from the same role.
    #[error("grant options cannot be granted back to your own grantor")]
    Circular,
}

impl Catalog {
    /// Adds a grant to the list of an object.
    ///
    /// # Errors
    /// [`GrantError::Circular`].
    pub fn add_grant(&self, grants: &mut Vec<Grant>, owner: u32, new: Grant) -> Result<(), GrantError> {
        if !new.options.is_empty() {
            self.check_circular(grants, owner, new)?;
        }
        match grants.iter_mut().find(|known| known.to == new.to && known.by == new.by) {
            Some(known) => {
                known.privileges = known.privileges.and(new.privileges);
                known.options = known.options.and(new.options);
            }
            None if new.privileges.is_empty() && new.options.is_empty() => {}
            None => grants.push(new),
        }
        Ok(())
    }

    /// Takes a grant out of the list of an object, and with `cascade` what was granted on.
    ///
    /// # Errors
    /// [`GrantError::Dependent`] if something was granted on, without `cascade`.
    pub fn take_grant(
        &self,
        grants: &mut Vec<Grant>,
        owner: u32,
        gone: Grant,
        cascade: bool,
    ) -> Result<(), GrantError> {
        let Some(at) = grants.iter().position(|known| known.to == gone.to && known.by == gone.by) else {
            return Ok(());
        };
        let known = &mut grants[at];
        let lost = known.options.common(gone.options);
        known.privileges = known.privileges.without(gone.privileges);
        known.options = known.options.without(gone.options);
        if known.privileges.is_empty() && known.options.is_empty() {
            grants.remove(at);
        }
        if lost.is_empty() || gone.to == owner {
            return Ok(());
        }
        let lost = lost.without(self.grantable(gone.to, owner, grants));
        while let Some(on) = grants
            .iter()
            .find(|known| known.by == gone.to && !known.privileges.and(known.options).common(lost).is_empty())
        {
            if !cascade {
                return Err(GrantError::Dependent);
            }
            let on = Grant { to: on.to, by: gone.to, privileges: lost, options: lost };
            self.take_grant(grants, owner, on, true)?;
        }
        Ok(())
    }

    /// Whether a role may grant a privilege, by a list.
    pub fn may_grant(&self, role: u32, owner: u32, grants: &[Grant], privilege: Privileges) -> bool {
        self.grantable(role, owner, grants).has(privilege)
    }

    /// What a role may grant, by a list.
    fn grantable(&self, role: u32, owner: u32, grants: &[Grant]) -> Privileges {
        let all = Privileges::NAMED.iter().fold(Privileges::NONE, |all, (one, ..)| all.and(*one));
        if self.has_rights_of(role, owner) {
            return all;
        }
        let has = |grant: &&Grant| grant.to == EVERYBODY || self.has_rights_of(role, grant.to);
        grants.iter().filter(has).fold(Privileges::NONE, |all, grant| all.and(grant.options))
    }

    /// # Errors
    /// [`GrantError::Circular`] if the grantor has what it grants only by way of whom it grants it to.
    fn check_circular(&self, grants: &[Grant], owner: u32, new: Grant) -> Result<(), GrantError> {
        if new.by == owner {
            return Ok(());
        }
        let mut left = grants.to_vec();
        while let Some(given) =
            left.iter().find(|known| known.to == new.to && !known.options.common(new.options).is_empty())
        {
            let given = Grant { privileges: Privileges::NONE, ..*given };
            // it ends: each turn takes away rights to grant
            self.take_grant(&mut left, owner, given, true)?;
        }
        if self.grantable(new.by, owner, &left).has(new.options) { Ok(()) } else { Err(GrantError::Circular) }
    }
}

/// The list of an object whose owner has changed: what the old one has granted, and what it was granted, are the new
/// one's.
pub fn with_owner(grants: &[Grant], from: u32, to: u32) -> Vec<Grant> {
    let mut changed: Vec<Grant> = Vec::with_capacity(grants.len());
    let role = |role: u32| if role == from { to } else { role };
    for grant in grants {
        let grant = Grant { to: role(grant.to), by: role(grant.by), ..*grant };
        match changed.iter_mut().find(|known| known.to == grant.to && known.by == grant.by) {
            Some(known) => {
                known.privileges = known.privileges.and(grant.privileges);
                known.options = known.options.and(grant.options);
            }
            None => changed.push(grant),
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::OWNER;

    const ANN: u32 = 20_001;
    const BOB: u32 = 20_002;
    const EVE: u32 = 20_003;
    const READ: Privileges = Privileges::SELECT;

    fn grant(by: u32, to: u32, option: bool) -> Grant {
        Grant { to, by, privileges: READ, options: if option { READ } else { Privileges::NONE } }
    }

    #[test]
    fn what_was_granted_on_goes_with_the_right_to_grant_it() {
        let catalog = Catalog::default();
        let mut grants = Vec::new();
        for new in [grant(OWNER, ANN, true), grant(ANN, BOB, true), grant(BOB, EVE, false)] {
            catalog.add_grant(&mut grants, OWNER, new).unwrap();
        }
        let before = grants.clone();
        let gone = grant(OWNER, ANN, true);
        assert_eq!(catalog.take_grant(&mut grants.clone(), OWNER, gone, false), Err(GrantError::Dependent));
        // who has it from another, too, keeps it
        catalog.add_grant(&mut grants, OWNER, grant(OWNER, BOB, true)).unwrap();
        catalog.take_grant(&mut grants, OWNER, gone, true).unwrap();
        assert_eq!(grants, [grant(BOB, EVE, false), grant(OWNER, BOB, true)]);
        let mut grants = before;
        catalog.take_grant(&mut grants, OWNER, gone, true).unwrap();
        assert_eq!(grants, []);
    }

    #[test]
    fn the_right_to_grant_does_not_go_back() {
        let catalog = Catalog::default();
        let mut grants = vec![grant(OWNER, ANN, true), grant(ANN, BOB, true)];
        let back = grant(BOB, ANN, true);
        assert_eq!(catalog.add_grant(&mut grants.clone(), OWNER, back), Err(GrantError::Circular));
        catalog.add_grant(&mut grants, OWNER, grant(BOB, ANN, false)).unwrap();
        // it may go back by another way
        grants.push(grant(OWNER, BOB, true));
        catalog.add_grant(&mut grants, OWNER, back).unwrap();
    }

    #[test]
    fn a_new_owner_has_the_old_ones_grants() {
        let all = Privileges::SELECT.and(Privileges::UPDATE);
        let own = Grant { to: ANN, by: ANN, privileges: all, options: Privileges::NONE };
        let list = [own, grant(ANN, BOB, false), grant(ANN, EVE, true)];
        let mine = Grant { to: BOB, by: BOB, ..own };
        assert_eq!(with_owner(&list, ANN, BOB), [mine, grant(BOB, EVE, true)]);
    }
}
