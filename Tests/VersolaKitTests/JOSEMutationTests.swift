// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

/// Random damage, the same in every run: nothing traps, and no damaged token is accepted. `make fuzz` does more of it.
@Suite struct JOSEMutationTests {
    @Test func damagedTokensAreRefused() throws {
        var random = SplitMix(state: 1)
        let key = TestKey.es256
        let keys = try keySet(key.jwk(["kid": "k"]))
        let token = Array(key.sign("{\"exp\":1764493200,\"aud\":[\"a\",\"b\"]}", kid: "k").utf8)
        for _ in 0..<2_000 {
            let damaged = random.damage(token)
            if damaged == token { continue }
            #expect(rejection(String(decoding: damaged, as: UTF8.self), keys) != nil)
        }
    }

    @Test func damagedHeadersAndClaimsDoNotTrap() throws {
        var random = SplitMix(state: 2)
        let header = Array(
            "{\"alg\":\"ES256\",\"kid\":\"k\",\"typ\":\"JWT\",\"crit\":[\"b64\"],\"x\":\"\\u0061\\\"\"}".utf8)
        let claims = Array(IDTokenFixture().payload.utf8)
        for _ in 0..<2_000 {
            _ = try? JWSHeader(json: String(decoding: random.damage(header), as: UTF8.self))
            _ = try? IDTokenClaims(json: String(decoding: random.damage(claims), as: UTF8.self))
        }
    }

    @Test func damagedKeySetsDoNotTrap() throws {
        var random = SplitMix(state: 3)
        let key = TestKey.es256
        let token = try JWS(compact: key.sign("{}", kid: "k"))
        let json = Array(
            "{\"keys\":[\(key.jwk(["kid": "k", "use": "sig"])),\(TestKey.rs256.jwk(["alg": "RS256"]))]}".utf8)
        for _ in 0..<2_000 {
            try? JWKSet(json: random.damage(json))?.verify(token)
        }
    }
}

private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// One to three of: a changed byte, a removed, repeated or inserted piece.
    mutating func damage(_ bytes: [UInt8]) -> [UInt8] {
        let marks = Array("{}[]\",:.\\-_=0e9\u{0}".utf8)
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...3, using: &self) {
            let start = Int.random(in: 0..<max(bytes.count, 1), using: &self)
            let end = min(bytes.count, start + Int.random(in: 0...8, using: &self))
            guard start < end else { continue }
            switch Int.random(in: 0..<5, using: &self) {
            case 0: bytes[start] = UInt8.random(in: 0...255, using: &self)
            case 1: bytes[start] = marks[Int.random(in: 0..<marks.count, using: &self)]
            case 2: bytes.removeSubrange(start..<end)
            case 3: bytes.insert(contentsOf: bytes[start..<end], at: start)
            default: bytes.insert(marks[Int.random(in: 0..<marks.count, using: &self)], at: start)
            }
        }
        return bytes
    }
}
