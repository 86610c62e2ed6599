// SPDX-License-Identifier: Apache-2.0
import CShims
import Testing

@testable import VersolaKit

/// Which key a token is checked with, and which keys are no keys at all.
@Suite struct JOSEKeySetTests {
    private let rsa = TestKey.rs256
    private let ec = TestKey.es256

    /// Case B08: nothing has to be set for any of them.
    @Test(arguments: SignatureAlgorithm.allCases)
    func b08EveryAlgorithmVerifiesAndNoOtherDoesInItsPlace(algorithm: SignatureAlgorithm) throws {
        let key = try #require(TestKey.byAlgorithm[algorithm])
        let keys = try keySet(key.jwk())
        let token = key.sign("{}")
        #expect(rejection(token, keys) == nil)
        let rest = token.drop { $0 != "." }
        for other in SignatureAlgorithm.allCases where other != algorithm {
            let header = Base64URL.encode("{\"alg\":\"\(other.rawValue)\"}".utf8)
            #expect(rejection(header + rest, keys)?.isWorthARefetch == true)
        }
        #expect(rejection(token, try keySet(TestKey.make(algorithm).jwk())) != nil)
    }

    /// Case B08.
    @Test func b08HMACWithThePublicKeyAsSecretIsRefused() throws {
        let token = "eyJhbGciOiJIUzI1NiJ9.e30." + Base64URL.encode([UInt8](repeating: 0, count: 32))
        #expect(
            rejection(token, try keySet(rsa.jwk()))
                == .rejected("The token's signature algorithm is not one of those accepted."))
        #expect(try keySet("{\"kty\":\"oct\",\"k\":\"AAAA\"}").keys.isEmpty)
    }

    @Test func kidPicksTheKeyByteForByte() throws {
        let other = TestKey.make(.es256)
        let keys = try keySet(other.jwk(["kid": "b"]), ec.jwk(["kid": "a"]), rsa.jwk(["kid": "a"]))
        #expect(rejection(ec.sign("{}", kid: "a"), keys) == nil)
        #expect(rejection(other.sign("{}", kid: "b"), keys) == nil)
        #expect(rejection(rsa.sign("{}", kid: "a"), keys) == nil)
        #expect(rejection(ec.sign("{}", kid: "b"), keys) == .rejected("The token's signature does not verify."))
        for kid in ["A", "", "a ", "c"] {
            #expect(
                rejection(ec.sign("{}", kid: kid), keys)
                    == .noFittingKey("No key of the provider's set fits the token."))
        }
        // One character, two spellings: the same string to Swift, another key to us.
        #expect(
            rejection(ec.sign("{}", kid: "e\u{301}"), try keySet(ec.jwk(["kid": "\u{e9}"])))?.isWorthARefetch == true)
    }

    @Test func keysThatShareAKidAreAllTried() throws {
        let other = TestKey.make(.es256)
        let keys = try keySet(other.jwk(["kid": "k"]), ec.jwk(["kid": "k"]))
        #expect(rejection(ec.sign("{}", kid: "k"), keys) == nil)
        #expect(rejection(other.sign("{}", kid: "k"), keys) == nil)
        #expect(rejection(TestKey.make(.es256).sign("{}", kid: "k"), keys)?.isWorthARefetch == false)
    }

    @Test func aNamedKeyIsNotReplacedByANamelessOne() throws {
        #expect(rejection(ec.sign("{}", kid: "k"), try keySet(ec.jwk()))?.isWorthARefetch == true)
    }

    @Test func withoutKidASingleFittingKeyIsUsed() throws {
        let other = TestKey.make(.es256)
        #expect(rejection(ec.sign("{}"), try keySet(rsa.jwk(["kid": "r"]), ec.jwk(["kid": "e"]))) == nil)
        #expect(
            rejection(ec.sign("{}"), try keySet(ec.jwk(), other.jwk()))
                == .noFittingKey("The token names no key, and several of the provider's set fit it."))
        #expect(rejection(ec.sign("{}"), try keySet(rsa.jwk()))?.isWorthARefetch == true)
    }

    @Test func withoutKidAFailingSignatureIsWorthARefetch() throws {
        #expect(
            rejection(TestKey.make(.es256).sign("{}"), try keySet(ec.jwk()))
                == .noFittingKey("The token's signature does not verify."))
    }

    @Test(arguments: [
        (["use": "sig"], true), (["use": "enc"], false), (["use": ""], false), (["use": "SIG"], false),
        (["alg": "RS256"], true), (["alg": "RS384"], false), (["alg": "RSA-OAEP"], false), (["kty": "rsa"], false),
        (["kty": "EC"], false), (["crv": "P-256"], true),
    ])
    func useAlgorithmAndTypeMustFit(members: [String: String], usable: Bool) throws {
        let verdict = rejection(rsa.sign("{}"), try keySet(rsa.jwk(members)))
        #expect((verdict == nil) == usable)
        if !usable { #expect(verdict?.isWorthARefetch == true) }
    }

    @Test(arguments: [
        ("[\"verify\"]", true), ("[\"sign\",\"verify\"]", true), ("null", true), ("[\"encrypt\"]", false),
        ("[]", false),
        ("\"verify\"", false), ("[1]", false),
    ])
    func keyOperationsMustContainVerify(operations: String, usable: Bool) throws {
        let jwk = String(ec.jwk().dropLast()) + ",\"key_ops\":\(operations)}"
        #expect((rejection(ec.sign("{}"), try keySet(jwk)) == nil) == usable)
    }

    @Test func rsaUnder2048BitsIsNoKey() throws {
        let weak = TestKey.make(.rs256, rsaBits: 2040)
        #expect(rejection(weak.sign("{}"), try keySet(weak.jwk()))?.isWorthARefetch == true)
        let longer = TestKey.make(.rs256, rsaBits: 2056)
        #expect(rejection(longer.sign("{}"), try keySet(longer.jwk())) == nil)
    }

    @Test func aZeroByteBeforeTheModulusChangesNothing() throws {
        let modulus = try #require(rsa.members["n"].flatMap { Base64URL.decode($0) })
        let jwk = rsa.jwk(["n": Base64URL.encode([0] + modulus)])
        #expect(rejection(rsa.sign("{}"), try keySet(jwk)) == nil)
    }

    @Test func absurdRSANumbersAreNoKey() throws {
        let modulus = try #require(rsa.members["n"].flatMap { Base64URL.decode($0) })
        let exponents: [[UInt8]] = [[], [0], [1], [2], [1, 0, 0], [UInt8](repeating: 255, count: 9)]
        for exponent in exponents {
            #expect(PublicKey(modulus: modulus, exponent: exponent) == nil)
        }
        let moduli: [[UInt8]] = [[], [0], [UInt8](repeating: 255, count: 1025), modulus.dropLast() + [0]]
        for modulus in moduli {
            #expect(PublicKey(modulus: modulus, exponent: [1, 0, 1]) == nil)
        }
        #expect(PublicKey(modulus: modulus, exponent: [3]) != nil)
        #expect(PublicKey(modulus: [UInt8](repeating: 255, count: 1024), exponent: [1, 0, 1]) != nil)
    }

    /// Case B04.
    @Test func b04AStrippedLeadingZeroIsPutBack() throws {
        var checked: Set<String> = []
        for _ in 0..<20_000 where checked.count < 2 {
            let key = TestKey.make(.es256)
            for name in ["x", "y"] {
                let coordinate = try #require(key.members[name].flatMap { Base64URL.decode($0) })
                guard coordinate.first == 0, !checked.contains(name) else { continue }
                let jwk = key.jwk([name: Base64URL.encode(coordinate.dropFirst())])
                #expect(rejection(key.sign("{}"), try keySet(jwk)) == nil)
                checked.insert(name)
            }
        }
        #expect(checked.count == 2)
    }

    @Test func pointsThatAreNotOnTheCurveAreNoKey() throws {
        let x = try #require(ec.members["x"].flatMap { Base64URL.decode($0) })
        let y = try #require(ec.members["y"].flatMap { Base64URL.decode($0) })
        #expect(PublicKey(curve: .p256, x: x, y: y) != nil)
        #expect(PublicKey(curve: .p256, x: y, y: x) == nil)
        #expect(PublicKey(curve: .p384, x: x, y: y) == nil)
        #expect(PublicKey(curve: .p256, x: [0] + x, y: y) == nil)
        #expect(PublicKey(curve: .p256, x: [], y: y) == nil)
        #expect(PublicKey(curve: .p256, x: [0], y: [0]) == nil)
        #expect(PublicKey(ed25519: [UInt8](repeating: 1, count: 31)) == nil)
    }

    @Test func aBrokenOrUnknownKeyDoesNotTakeTheOthersWithIt() throws {
        let strange = [
            "{}", "null", "7", "\"key\"", "[]", "{\"kty\":\"EC\"}",
            "{\"kty\":\"EC\",\"crv\":\"secp256k1\",\"x\":\"AA\",\"y\":\"AA\"}",
            "{\"kty\":\"OKP\",\"crv\":\"Ed448\",\"x\":\"AA\"}",
            "{\"kty\":\"AKP\",\"alg\":\"ML-DSA-44\",\"pub\":\"AA\"}",
            "{\"kty\":\"RSA\",\"n\":\"!\",\"e\":\"AQAB\"}", "{\"kty\":\"RSA\",\"n\":7,\"e\":\"AQAB\"}", "{\"kty\":[]}",
            ec.jwk(["kid": "k"]).replacing("\"k\"", with: "7"), ec.jwk(["x": "AA=="]),
        ]
        let json = "{\"more\":1,\"keys\":[\((strange + [ec.jwk(["kid": "good"])]).joined(separator: ","))]}"
        let keys = try #require(JWKSet(json: Array(json.utf8)))
        #expect(keys.keys.count == 1)
        #expect(rejection(ec.sign("{}", kid: "good"), keys) == nil)
    }

    @Test(arguments: [
        "", "{}", "[]", "null", "{\"keys\":{}}", "{\"keys\":null}", "{\"keys\":[", "<html>", "{\"keys\":[]}x",
    ])
    func whatIsNoKeySetIsNone(json: String) {
        #expect(JWKSet(json: Array(json.utf8)) == nil)
    }

    @Test func anEmptySetIsASet() throws {
        #expect(try keySet().keys.isEmpty)
        #expect(rejection(ec.sign("{}"), try keySet())?.isWorthARefetch == true)
    }

    @Test func ecdsaSignaturesHaveOneLength() throws {
        let keys = try keySet(ec.jwk())
        let token = ec.sign("{}")
        let parts = token.split(separator: ".")
        let signature = try #require(Base64URL.decode(String(parts[2])))
        let half = signature.count / 2
        let lengthened = [0] + signature.prefix(half) + [0] + signature.suffix(half)
        for changed in [lengthened, signature + [0], Array(signature.dropLast()), [UInt8](repeating: 0, count: 64)] {
            #expect(rejection("\(parts[0]).\(parts[1]).\(Base64URL.encode(changed))", keys) != nil)
        }
    }

    @Test func thePSSSaltIsAsLongAsTheHash() throws {
        for (salt, accepted) in [(Int32(32), true), (20, false), (0, false), (RSA_PSS_SALTLEN_MAX, false)] {
            let key = TestKey.make(.ps256, saltLength: salt)
            #expect((rejection(key.sign("{}"), try keySet(key.jwk())) == nil) == accepted)
        }
    }

    @Test func failuresLeaveNothingInTheThreadsErrorQueue() throws {
        #expect(rejection(TestKey.make(.rs256).sign("{}"), try keySet(rsa.jwk())) != nil)
        #expect(rejection(TestKey.make(.es256).sign("{}"), try keySet(ec.jwk())) != nil)
        #expect(PublicKey(curve: .p256, x: [1], y: [1]) == nil)
        #expect(errorQueueIsEmpty())
    }
}
