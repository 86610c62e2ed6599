// SPDX-License-Identifier: Apache-2.0
import CShims

@testable import VersolaKit

/// A key set, and one element of a set that has a good key besides.
@Sendable
func fuzzJWKS(_ input: [UInt8]) {
    let keys = JWKSet(json: input)
    do throws(JSONReader.Fault) {
        let document = Claims(try JSONReader.object(input))
        if case .array(let elements)? = document["keys"] {
            guard let keys else { preconditionFailure("a key set is one") }
            let usable = elements.filter(isUsable)
            precondition(keys.keys.count == usable.count)
        } else {
            precondition(keys == nil)
        }
    } catch {
        precondition(error == .beyondDecoder || keys == nil)
    }
    guard let alone = try? JSONReader.object(document(input)), case .array(let elements)? = alone[Array("keys".utf8)],
        alone.count == 1, !elements.isEmpty
    else { return }
    let ours = JWKSet(json: document(input + Array(",\(SigningKey.shared.jwk)".utf8)))?.keys.last
    guard let ours, let token = try? JWS(compact: SigningKey.shared.sign([])) else { preconditionFailure("no key") }
    precondition(ours.key.verifies(token.signature, of: token.signingInput, by: .edDSA))
}

private func document(_ elements: [UInt8]) -> [UInt8] {
    Array(#"{"keys":["#.utf8) + elements + Array("]}".utf8)
}

/// RFC 7517 §4, RFC 7518 §6, RFC 8037 §2, behaviour §6.
private func isUsable(_ tree: JSONTree) -> Bool {
    guard case .object(let members) = tree else { return false }
    let key = Claims(members)
    guard ["kid", "alg", "crv", "use"].allSatisfy({ key.text($0) != .wrong }) else { return false }
    guard key.text("use") == .absent || key.says("use", "sig") else { return false }
    if let operations = key["key_ops"] {
        guard case .array = operations, key.texts("key_ops")?.contains(Array("verify".utf8)) == true else {
            return false
        }
    }
    if key.says("kty", "RSA") {
        guard let n = number(key, "n"), let e = number(key, "e"), let top = n.first, let odd = n.last else {
            return false
        }
        let bits = n.count * 8 - top.leadingZeroBitCount
        return (2048...8192).contains(bits) && odd & 1 == 1 && !ROCA.marks(n)
            && e.count <= 8 && (e.last ?? 0) & 1 == 1 && e != [1]
    }
    if key.says("kty", "EC") {
        guard case .bytes(let name) = key.text("crv"), let curve = FieldCurve.all[name] else { return false }
        guard let x = bytes(key, "x"), let y = bytes(key, "y") else { return false }
        return curve.contains(x, y)
    }
    guard key.says("kty", "OKP"), key.says("crv", "Ed25519"), let x = bytes(key, "x") else { return false }
    return x.count == 32 && !PublicKey.isOfSmallOrder(ed25519: x)
}

/// Base64url, the one spelling of it (RFC 7515 §2, RFC 4648 §3.5).
private func bytes(_ key: Claims, _ name: String) -> [UInt8]? {
    guard case .bytes(let text) = key.text(name) else { return nil }
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    var bits: [Bool] = []
    for byte in text {
        guard let value = alphabet.firstIndex(of: byte) else { return nil }
        bits += (0..<6).reversed().map { value >> $0 & 1 == 1 }
    }
    let (whole, rest) = (bits.count / 8 * 8, bits.count % 8)
    guard rest < 6, !bits[whole...].contains(true) else { return nil }
    return stride(from: 0, to: whole, by: 8).map { start in
        bits[start..<(start + 8)].reduce(0) { $0 << 1 | ($1 ? 1 : 0) }
    }
}

private func number(_ key: Claims, _ name: String) -> [UInt8]? {
    bytes(key, name).map { Array($0.drop { $0 == 0 }) }
}

/// y² = x³ − 3x + b over a prime field (FIPS 186-4 D.1.2).
private struct FieldCurve: @unchecked Sendable {  // read only
    private let prime: OpaquePointer?
    private let b: OpaquePointer?
    private let length: Int

    static let all: [[UInt8]: FieldCurve] = [
        Array("P-256".utf8): FieldCurve(NID_X9_62_prime256v1, 32), Array("P-384".utf8): FieldCurve(NID_secp384r1, 48),
        Array("P-521".utf8): FieldCurve(NID_secp521r1, 66),
    ]

    private init(_ name: Int32, _ length: Int) {
        self.length = length
        let group = EC_GROUP_new_by_curve_name(name)
        defer { EC_GROUP_free(group) }
        prime = BN_new()
        b = BN_new()
        EC_GROUP_get_curve(group, prime, nil, b, nil)
    }

    func contains(_ x: [UInt8], _ y: [UInt8]) -> Bool {
        guard !x.isEmpty, !y.isEmpty, x.count <= length, y.count <= length else { return false }
        let (x, y) = (BN_bin2bn(x, Int32(x.count), nil), BN_bin2bn(y, Int32(y.count), nil))
        let (left, right, context) = (BN_new(), BN_new(), BN_CTX_new())
        defer {
            for number in [x, y, left, right] { BN_free(number) }
            BN_CTX_free(context)
        }
        guard BN_cmp(x, prime) < 0, BN_cmp(y, prime) < 0 else { return false }
        BN_mod_sqr(left, y, prime, context)
        BN_mod_sqr(right, x, prime, context)
        for _ in 0..<3 { BN_sub_word(right, 1) }
        BN_mod_mul(right, right, x, prime, context)
        BN_mod_add(right, right, b, prime, context)
        return BN_cmp(left, right) == 0
    }
}
