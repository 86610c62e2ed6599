// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit
@testable import fleet

/// A small fleet, so that `make fleet` cannot rot and its figures mean what they say.
struct FleetTests {
    private static let retryAfterStories = Story.allCases.filter { $0 != .outage }

    private func run(_ story: Story, _ kind: ClientKind, seed: UInt64 = 7) async -> FleetResult {
        await Fleet(story: story, kind: kind, clients: 200, capacity: 2, seed: seed).run()
    }

    @Test("no client sends before the time that the provider named", arguments: retryAfterStories)
    func noClientSendsTooEarly(_ story: Story) async {
        #expect(await run(story, .versola(.default)).tooEarly == 0)
        #expect(await run(story, .retriesBlindly).tooEarly > 0)
    }

    @Test("everyone is served in the end", arguments: Story.allCases)
    func everyoneIsServed(_ story: Story) async {
        #expect(await run(story, .versola(.default)).servedAfter.allSatisfy { $0 != nil })
    }

    @Test("a call sends at most as many requests as its policy allows", arguments: Story.allCases)
    func attemptsAreLimited(_ story: Story) async {
        #expect(await run(story, .versola(.default)).mostRequestsOfACall <= 3)
        #expect(await run(story, .versola(.patient)).mostRequestsOfACall <= 5)
    }

    @Test(
        "a provider that says when it is back hears less than from a client that never repeats",
        arguments: [
            Story.outageWithRetryAfter, .announcedEnd, .rateLimit,
        ])
    func aPauseSavesRequests(_ story: Story) async {
        let versola = await run(story, .versola(.default))
        let never = await run(story, .neverRetries)
        #expect(versola.requests.reduce(0, +) < never.requests.reduce(0, +))
        #expect(versola.refusedByPause > 0)
    }

    @Test("an outage without Retry-After starts no pause")
    func noWordNoPause() async {
        let result = await run(.outage, .versola(.default))
        #expect(result.refusedByPause == 0)
        #expect(result.mostRequestsOfACall == 3)
    }

    @Test("the same seed gives the same figures")
    func isDeterministic() async {
        let first = await run(.rateLimitShort, .versola(.default))
        #expect(await run(.rateLimitShort, .versola(.default)) == first)
        #expect(await run(.rateLimitShort, .versola(.default), seed: 8) != first)
    }
}
