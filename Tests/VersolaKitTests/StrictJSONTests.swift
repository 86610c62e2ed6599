// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

/// What a signed object may look like: RFC 8259 to the letter. `make fuzz TARGET=json` holds more of it against another reader.
@Suite struct StrictJSONTests {
    /// Asks for one member and passes over the rest.
    private struct Members: Decodable {
        var a: Int?
    }

    @Test(arguments: [
        "{}", " \t\r\n{ \t\r\n} \t\r\n", "{\"a\":1}", "{\"x\":[]}", "{\"x\":[[],{},[{}]]}",
        "{\"x\":{\"x\":{\"x\":1}},\"y\":2}",
        "{\"x\":[0,-0,1.5,-1.5e-3,1E+9,1e400,123456789012345678901234567890]}", "{\"x\":[true,false,null]}",
        "{\"x\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\ude00\\ud800é😀\u{7f}\"}", "{\"\":1,\" \":2}",
    ])
    func wellFormed(json: String) throws {
        #expect(throws: Never.self) { try StrictJSON.decode(Members.self, from: json) }
    }

    @Test(arguments: [
        "", " ", "{", "}", "{]", "{}}", "{}{}", "{},", "[]", "1", "null", "\"a\"", "\u{FEFF}{}", "{\u{0}}", "{}\u{0}",
        "{\u{a0}}", "{\u{b}}",
        // Commas and colons
        "{\"x\":[1,]}", "{\"x\":[,1]}", "{\"x\":[,]}", "{\"x\":[1,,2]}", "{\"x\":[1 2]}", "{\"a\":1,}", "{,\"a\":1}",
        "{\"a\" 1}", "{\"a\":}",
        "{\"a\"}", "{\"a\":1 \"b\":2}", "{\"a\":1;\"b\":2}", "{\"a\"::1}", "{:1}", "{a:1}", "{1:1}", "{'a':1}",
        "{[]:1}",
        // Brackets
        "{\"x\":[1}", "{\"x\":[1}}", "{\"x\":{\"y\":1]}", "{\"x\":[}", "{\"x\":[]]}", "{\"x\":{}",
        // Literals
        "{\"x\":nul}", "{\"x\":nulll}", "{\"x\":True}", "{\"x\":truefalse}", "{\"x\":NaN}", "{\"x\":-Infinity}",
        "{\"x\":undefined}",
        // Numbers
        "{\"x\":01}", "{\"x\":-}", "{\"x\":-01}", "{\"x\":+1}", "{\"x\":.5}", "{\"x\":1.}", "{\"x\":1e}", "{\"x\":1e+}",
        "{\"x\":1.2.3}", "{\"x\":0x1}",
        "{\"x\":1_0}", "{\"x\":--1}", "{\"x\":1-1}",
        // Strings
        "{\"x\":\"}", "{\"x\":\"\\\"}", "{\"x\":\"\\x41\"}", "{\"x\":\"\\u12\"}", "{\"x\":\"\\u12g4\"}", "{\"x\":\"\\",
        "{\"x\":\"\\u",
        "{\"x\":\"\n\"}", "{\"x\":\"\t\"}", "{\"x\":\"\u{1f}\"}", "{\"x\":'a'}", "{\"\\ud800\":1}",
        // Comments
        "{}//", "{/**/}", "{\"x\":1 /* */}",
    ])
    func malformed(json: String) {
        #expect(throws: StrictJSON.Failure.malformed) { try StrictJSON.decode(Members.self, from: json) }
    }

    @Test func aMemberMayBeUnfit() {
        for json in ["{\"a\":\"1\"}", "{\"a\":1.5}", "{\"a\":[]}"] {
            #expect(throws: StrictJSON.Failure.self) { try StrictJSON.decode(Members.self, from: json) }
        }
        #expect(throws: StrictJSON.Failure.unfit(member: "a")) {
            try StrictJSON.decode(Members.self, from: "{\"a\":{}}")
        }
    }

    @Test func depthHasALimitAndIsNoTrap() throws {
        for (depth, fits) in [(100, true), (100_000, false)] {
            let json = "{\"x\":" + String(repeating: "[", count: depth) + String(repeating: "]", count: depth) + "}"
            #expect(((try? StrictJSON.decode(Members.self, from: json)) != nil) == fits)
        }
    }

    @Test func manyMembersTakeNoLongerEach() throws {
        let members = (0..<20_000).map { "\"\($0)\":\($0)" }.joined(separator: ",")
        #expect(throws: Never.self) { try StrictJSON.decode(Members.self, from: "{\(members)}") }
        #expect(throws: StrictJSON.Failure.duplicateMember) {
            try StrictJSON.decode(Members.self, from: "{\(members),\"777\":1}")
        }
    }
}
