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
        #expect(rejection(token, try keySet(try #require(TestKey.strangers[algorithm]).jwk())) != nil)
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

    @Test func aNamedKeyThatDoesNotFitIsNotReplacedByAnother() throws {
        let misfits = [
            rsa.jwk(["kid": "k"]), ec.jwk(["kid": "k", "use": "enc"]), ec.jwk(["kid": "k", "alg": "ES384"]),
            TestKey.make(.es384).jwk(["kid": "k"]),
        ]
        for misfit in misfits {
            #expect(
                rejection(ec.sign("{}", kid: "k"), try keySet(misfit, ec.jwk(), ec.jwk(["kid": "other"])))
                    == .noFittingKey("No key of the provider's set fits the token."))
        }
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
        (["kty": "EC"], false), (["crv": "P-256"], true), (["alg": ""], false), (["alg": "rs256"], false),
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
        let weak = TestKey.make(.rs256, rsaBits: 2047)
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

    /// CVE-2017-15361, by the fingerprint that all of them share.
    @Test func anRSAKeyThatCanBeFactoredIsNoKey() throws {
        #expect(!ROCA.marks(try #require(rsa.members["n"].flatMap { Base64URL.decode($0) })))
        var power: [UInt8] = [1]
        for _ in 0..<128 { power = Self.times65537(power) }
        #expect(ROCA.marks(power))
        #expect(PublicKey(modulus: power, exponent: [1, 0, 1]) == nil)
        let neighbour: [UInt8] = power.dropLast() + [3]
        #expect(!ROCA.marks(neighbour))
        #expect(PublicKey(modulus: neighbour, exponent: [1, 0, 1]) != nil)
    }

    /// Eight points, also in the spellings that RFC 8032 §5.1.3 does not allow.
    @Test func aPointOfSmallOrderIsNoKey() throws {
        let order8: [[UInt8]] = [
            [
                0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0,
                0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05,
            ],
            [
                0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f,
                0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a,
            ],
        ]
        let small = [UInt8(0), 1].map { [$0] + [UInt8](repeating: 0, count: 31) }
        let large = [UInt8(0xec), 0xed, 0xee].map { [$0] + [UInt8](repeating: 0xff, count: 30) + [0x7f] }
        for point in order8 + small + large {
            #expect(PublicKey(ed25519: point) == nil)
            #expect(PublicKey(ed25519: point.dropLast() + [point[31] | 0x80]) == nil)
        }
        #expect(PublicKey(ed25519: [3] + [UInt8](repeating: 0, count: 31)) != nil)
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
        // The point at infinity has no coordinates; these are what some write for it.
        #expect(PublicKey(curve: .p256, x: [0], y: [0]) == nil)
        // There is a point with x = 0, but none whose x is written as the field's prime.
        let root: [UInt8] = [
            0x66, 0x48, 0x5c, 0x78, 0x0e, 0x2f, 0x83, 0xd7, 0x24, 0x33, 0xbd, 0x5d, 0x84, 0xa0, 0x6b, 0xb6,
            0x54, 0x1c, 0x2a, 0xf3, 0x1d, 0xae, 0x87, 0x17, 0x28, 0xbf, 0x85, 0x6a, 0x17, 0x4f, 0x93, 0xf4,
        ]
        let prime: [UInt8] =
            [255, 255, 255, 255, 0, 0, 0, 1] + [UInt8](repeating: 0, count: 12) + [UInt8](repeating: 255, count: 12)
        #expect(PublicKey(curve: .p256, x: [0], y: root) != nil)
        #expect(PublicKey(curve: .p256, x: prime, y: root) == nil)
        #expect(PublicKey(ed25519: [UInt8](repeating: 1, count: 31)) == nil)
        #expect(PublicKey(ed25519: [UInt8](repeating: 1, count: 33)) == nil)
    }

    @Test func aBrokenOrUnknownKeyDoesNotTakeTheOthersWithIt() throws {
        let strange = [
            "{}", "null", "7", "\"key\"", "[]", "{\"kty\":\"EC\"}",
            "{\"kty\":\"EC\",\"crv\":\"secp256k1\",\"x\":\"AA\",\"y\":\"AA\"}",
            // The generator: a good point of that curve.
            """
            {"kty":"EC","crv":"secp256k1","x":"eb5mfvncu6xVoGKVzocLBwKb_NstzijZWfKBWxb4F5g",\
            "y":"SDradyajxGVdpPv8DhEIqP0XtEimhVQZnEfQj_sQ1Lg"}
            """,
            "{\"kty\":\"OKP\",\"crv\":\"Ed448\",\"x\":\"AA\"}",
            // RFC 8037 A.6, a key for another purpose.
            "{\"kty\":\"OKP\",\"crv\":\"X25519\",\"x\":\"3p7bfXt9wbTTW2HC7OQ1Nz-DQ8hbeGdNrfx-FG-IK08\"}",
            // U+212A: a K to Swift.
            "{\"kty\":\"O\u{212a}P\",\"crv\":\"Ed25519\",\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}",
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
        "{\"keys\":[],\"keys\":[]}", "{\"keys\":[{\"kty\":\"EC\",\"kty\":\"RSA\"}]}",
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
        let one = [UInt8](repeating: 0, count: half - 1) + [1]
        let zero = [UInt8](repeating: 0, count: half)
        for changed in [
            lengthened, signature + [0], Array(signature.dropLast()), zero + zero, zero + one, one + zero, one + one,
            zero + signature.suffix(half), signature.prefix(half) + zero, Self.order + one, one + Self.order,
            [UInt8](repeating: 255, count: 64), Self.der(signature),
        ] {
            #expect(rejection("\(parts[0]).\(parts[1]).\(Base64URL.encode(changed))", keys) != nil)
        }
    }

    /// JOSE does not ask for the lower of the two values of `s`.
    @Test func bothSignsOfAnECDSASignatureAreAccepted() throws {
        let parts = ec.sign("{}").split(separator: ".")
        let signature = try #require(Base64URL.decode(String(parts[2])))
        var other = Self.order
        var borrow = 0
        for (index, byte) in signature.suffix(32).enumerated().reversed() {
            let difference = Int(other[index]) - Int(byte) - borrow
            borrow = difference < 0 ? 1 : 0
            other[index] = UInt8(difference + 256 * borrow)
        }
        let twin = "\(parts[0]).\(parts[1]).\(Base64URL.encode(signature.prefix(32) + other))"
        #expect(rejection(twin, try keySet(ec.jwk())) == nil)
    }

    @Test func rsaSignaturesHaveOneLength() throws {
        let keys = try keySet(rsa.jwk())
        let parts = rsa.sign("{}").split(separator: ".")
        let signature = try #require(Base64URL.decode(String(parts[2])))
        for changed in [
            [0] + signature, signature + [0], Array(signature.dropFirst()), Array(signature.dropLast()), [],
        ] {
            #expect(rejection("\(parts[0]).\(parts[1]).\(Base64URL.encode(changed))", keys) != nil)
        }
    }

    /// Of P-256.
    private static let order: [UInt8] = [
        0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xbc, 0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
    ]

    /// The form that X.509 uses and RFC 7518 §3.4 does not.
    private static func der(_ signature: [UInt8]) -> [UInt8] {
        let numbers = [signature.prefix(32), signature.suffix(32)].flatMap { half -> [UInt8] in
            var number = Array(half.drop { $0 == 0 })
            if number.first.map({ $0 >= 0x80 }) ?? true { number.insert(0, at: 0) }
            return [2, UInt8(number.count)] + number
        }
        return [0x30, UInt8(numbers.count)] + numbers
    }

    private static func times65537(_ number: [UInt8]) -> [UInt8] {
        // Shifted by two bytes and added.
        var sum: [UInt8] = []
        var carry = 0
        let (low, high) = (Array(number.reversed()), [0, 0] + number.reversed())
        for index in high.indices {
            let total = Int(high[index]) + (index < low.count ? Int(low[index]) : 0) + carry
            sum.append(UInt8(total & 255))
            carry = total >> 8
        }
        if carry > 0 { sum.append(UInt8(carry)) }
        return sum.reversed()
    }

    @Test func thePSSSaltIsAsLongAsTheHash() throws {
        for (salt, accepted) in [(Int32(32), true), (20, false), (0, false), (RSA_PSS_SALTLEN_MAX, false)] {
            let key = rsa.signing(.ps256, saltLength: salt)
            #expect((rejection(key.sign("{}"), try keySet(key.jwk())) == nil) == accepted)
        }
    }

    @Test func failuresLeaveNothingInTheThreadsErrorQueue() throws {
        for algorithm in SignatureAlgorithm.allCases {
            let stranger = try #require(TestKey.strangers[algorithm])
            #expect(
                rejection(stranger.sign("{}"), try keySet(try #require(TestKey.byAlgorithm[algorithm]).jwk())) != nil)
        }
        #expect(PublicKey(curve: .p256, x: [1], y: [1]) == nil)
        #expect(errorQueueIsEmpty())
    }
}
