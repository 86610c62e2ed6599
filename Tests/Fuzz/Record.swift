// SPDX-License-Identifier: Apache-2.0
@testable import VersolaKit

private struct FixedKey: KeySource {
    let key = Secret([UInt8](repeating: 7, count: StoreKey.rootSize))
    func rootKey(mayCreate: Bool) -> Secret { key }
}

private let keySource = FixedKey()
private let binding = try? StoreBinding(issuer: "https://op.example", clientID: "app", session: "default")

/// A file of the store: as it lies on the disk, and as what was sealed in it.
@Sendable
func fuzzRecord(_ input: [UInt8]) {
    guard let binding else { preconditionFailure("no binding") }
    _ = StoreEntry(name: text(input))
    let records = MemoryRecordStore()
    let vault = RecordVault(records: records, keys: keySource, binding: binding)
    records.write(input, to: .grant, using: nil)
    _ = try? vault.header(of: .grant)
    _ = try? vault.load(.grant)

    let content = Secret(input)
    let time = SystemTime()
    if let grant = try? RecordCoding.decode(Grant.self, content) {
        _ = grant.isUsable(time)
        _ = grant.accessToken.map(Token.init)
        _ = Identity(grant)
    }
    _ = (try? RecordCoding.decode(PendingRequest.self, content))?.isWaiting(time)
    _ = try? RecordCoding.decode(StoreCounters.self, content)
}
