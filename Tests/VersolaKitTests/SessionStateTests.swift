// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

/// Behaviour §1: the state is one pure function of facts; first match wins.
@Suite struct SessionStateTests {
    @Test func everyCombinationOfFactsNamesItsState() {
        let both = [false, true]
        for loggingOut in both {
            for logins in 0...2 {
                for refreshing in both {
                    for grant in both {
                        for locked in both {
                            for challenge in [nil, StepUpChallenge(acrValues: "x")] {
                                let facts = SessionFacts(
                                    loggingOut: loggingOut, loginsWaiting: logins, refreshing: refreshing,
                                    hasGrant: grant, keyLocked: locked, challenge: challenge)
                                #expect(SessionState(facts) == Self.expected(facts))
                            }
                        }
                    }
                }
            }
        }
    }

    private static func expected(_ facts: SessionFacts) -> SessionState {
        let rows: [(Bool, SessionState)] = [
            (facts.loggingOut, .loggingOut), (facts.loginsWaiting > 0, .authorizing), (facts.refreshing, .refreshing),
            (facts.hasGrant && facts.keyLocked, .locked), (facts.hasGrant && facts.challenge != nil, .stepUpRequired),
            (facts.hasGrant, .authenticated),
        ]
        return rows.first { $0.0 }?.1 ?? .unauthenticated
    }

    @Test func theFirstValueAnObserverSeesIsTheCurrent() {
        let session = Session()
        session.update { $0.addWaiting(.sample(VirtualTime())) }
        let seen = Lock<[SessionState]>([])
        _ = session.observe { change in seen.withLock { $0.append(change.state) } }
        #expect(seen.withLock { $0 } == [.authorizing])
    }

    @Test func noTwoNeighboursAreEqualAndNoneIsSkipped() {
        let session = Session()
        let seen = Lock<[SessionStateChange]>([])
        _ = session.observe { change in seen.withLock { $0.append(change) } }
        session.update { _ in }
        session.update(reason: .userCancelled) { _ in }
        for generation in [Int64(1), 1, 2] {
            session.update { contents in
                contents.grant = .sample()
                contents.grant?.generation = generation
            }
        }
        session.update { $0.facts.refreshing = true }
        session.update { $0.facts.refreshing = true }
        session.update(reason: .userCancelled) { $0.facts.refreshing = false }
        session.update { $0.grant = nil }
        let changes = seen.withLock { $0 }
        #expect(
            changes.map(\.state) == [
                .unauthenticated, .authenticated, .authenticated, .refreshing, .authenticated, .unauthenticated,
            ])
        #expect(changes.map(\.generation) == [0, 1, 2, 2, 2, 0])
        #expect(changes.map(\.reason) == [nil, nil, nil, nil, .userCancelled, nil])
        #expect(zip(changes, changes.dropFirst()).allSatisfy { $0 != $1 })
    }

    @Test func whoStoppedObservingHearsNothing() {
        let session = Session()
        let seen = Lock(0)
        let observer = session.observe { _ in seen.withLock { $0 += 1 } }
        session.stopObserving(observer)
        session.update { $0.facts.refreshing = true }
        #expect(seen.withLock { $0 } == 1)
    }

    @Test func theURLIsThereOnlyWhileAuthorizing() {
        let session = Session()
        let request = PendingRequest.sample(VirtualTime())
        let seen = Lock<[String?]>([])
        _ = session.observe { change in seen.withLock { $0.append(change.authorizationURL) } }
        session.update { $0.addWaiting(request) }
        session.update { $0.removeWaiting(request.id) }
        #expect(seen.withLock { $0 } == [nil, request.authorizationURL, nil])
    }
}
