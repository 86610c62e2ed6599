// SPDX-License-Identifier: Apache-2.0
import CVersola

/// The header's enumerators as the `int32_t` that parameters and results carry.
protocol Numbered: RawRepresentable where RawValue == UInt32 {}

extension Numbered {
    var number: Int32 { Int32(bitPattern: rawValue) }
}

extension versola_cause: Numbered {}
extension versola_network_reason: Numbered {}
extension versola_browser: Numbered {}
extension versola_access_token_cache: Numbered {}
extension versola_log_level: Numbered {}
extension versola_retry_preset: Numbered {}
extension versola_state: Numbered {}
extension versola_event_kind: Numbered {}
extension versola_operation: Numbered {}
extension versola_open_url_answer: Numbered {}
extension versola_cancel: Numbered {}
extension versola_feature: Numbered {}
