// SPDX-License-Identifier: Apache-2.0

/// What other processes do on the same store becomes states here (behaviour §1).
extension Worker {
    /// The store changed, by another process or by us.
    func storeChanged() async {
        if runningLogout == nil { followStoredGrant() }
        for (id, login) in logins where login.phase != .settling {
            do throws(OAuthError) {
                guard let url = try store.takeHandedOver(id), configuration.redirectUri.matches(url) else { continue }
                await settle(id, handedOver: url, to: login)
            } catch {
                log(.warning, "store: a redirect handed over could not be read: \(error.diagnostics.detail)")
            }
        }
    }

    /// Another process signed in, signed out, or as somebody else; a new refresh token of the same grant is none of these.
    func followStoredGrant() {
        let stored: Grant?
        do throws(OAuthError) {
            stored = try store.grant()
        } catch {
            log(.warning, "store: what another process changed could not be read: \(error.diagnostics.detail)")
            return followInvalidation(error)
        }
        let known = session.contents.grant
        guard let stored else {
            // A start elsewhere tidies away a grant that only we can use; a logout counts the epoch.
            if let known, known.refreshToken == nil, session.contents.accessToken?.isAlive(time) == true,
                let epoch = try? store.epoch(), epoch == tokenSessionEpoch
            {
                return
            }
            // Also one that is locked away here.
            if session.contents.facts.hasGrant { forgetGrant(because: Self.signedOutElsewhere) }
            return
        }
        // What is on disk is older than what the store could not take.
        if let unsaved, unsaved.generation == stored.generation { return }
        guard stored != known, stored.generation == known?.generation || stored.isUsable(time) else { return }
        adopt(stored)
    }

    /// Takes a grant over that another process stored.
    func adopt(_ stored: Grant) {
        if let known = session.contents.grant, !known.login.subject.hasSameBytes(as: stored.login.subject) {
            forgetGrant(because: Self.signedOutElsewhere)
        }
        session.update { contents in
            if contents.grant?.generation != stored.generation {
                contents.accessToken = nil
                contents.facts.challenge = nil
            }
            contents.grant = stored
            contents.accessToken = stored.accessToken ?? contents.accessToken
        }
        watchExpiry()
    }

    func forgetGrant(because reason: OAuthError) {
        session.update(reason: reason) { contents in
            contents.grant = nil
            contents.accessToken = nil
            contents.facts.challenge = nil
            contents.facts.refreshing = false
        }
        watchExpiry()
    }

    /// A record that could not be read took all that looks like a credential with it (behaviour §2, CredentialsInvalidated).
    func followInvalidation(_ error: OAuthError) {
        if case .reauthenticate(.credentialsInvalidated, _) = error { forgetGrant(because: error) }
    }

    private static let signedOutElsewhere = OAuthError.reauthenticate(
        .sessionExpired, "another process that shares the store signed out")
}
