// SPDX-License-Identifier: Apache-2.0
import CShims
import CVersola
import VersolaKit

public typealias ErrorOut = UnsafeMutablePointer<OpaquePointer?>?
public typealias HandleOut = UnsafeMutablePointer<OpaquePointer?>?
public typealias CString = UnsafePointer<CChar>?

/// The object behind a handle. Handles are made by ``give(_:)`` and end with ``drop(_:as:)``.
func object<Object: AnyObject>(_ handle: OpaquePointer?, as _: Object.Type = Object.self) -> Object? {
    guard let handle else { return nil }
    return Unmanaged<Object>.fromOpaque(UnsafeRawPointer(handle)).takeUnretainedValue()
}

/// The object behind a handle that has to be there.
func required<Object: AnyObject>(_ handle: OpaquePointer?, _ name: String) throws(OAuthError) -> Object {
    guard let object: Object = object(handle) else { throw invalid("\(name) is NULL") }
    return object
}

/// A new reference for the caller, who releases it.
func give(_ object: some AnyObject) -> OpaquePointer {
    OpaquePointer(Unmanaged.passRetained(object).toOpaque())
}

/// A pointer that lives as long as whatever keeps the object.
func lend(_ object: (some AnyObject)?) -> OpaquePointer? {
    object.map { OpaquePointer(Unmanaged.passUnretained($0).toOpaque()) }
}

/// One reference less. In a forked child nothing happens: locks and threads there are not what they seem.
func drop<Object: AnyObject>(_ handle: OpaquePointer?, as _: Object.Type) {
    guard let handle, !shim_process_is_forked_child() else { return }
    Unmanaged<Object>.fromOpaque(UnsafeRawPointer(handle)).release()
}

func invalid(_ why: String) -> OAuthError {
    .configuration(.invalidConfiguration, Diagnostics(why))
}

/// A string from the caller, copied and checked.
func text(_ pointer: CString, _ name: String) throws(OAuthError) -> String {
    guard let pointer else { throw invalid("\(name) is NULL") }
    guard let text = String(validatingCString: pointer) else { throw invalid("\(name) is not valid UTF-8") }
    return text
}

/// What a forked child gets. Made before there can be one.
private let forkedChild = ErrorObject(
    invalid("process: the library was used before fork; it cannot be used in the child"))

/// A new object for the caller. Everything begins with one: from now on a child that is forked is refused, as it may wait for
/// ever for what another thread was about to do. `nil` in such a child.
func giveNew<Object: AnyObject>(_ make: () -> Object?) -> OpaquePointer? {
    guard !shim_process_is_forked_child() else { return nil }
    shim_process_use_first { _ = forkedChild }
    return make().map(give)
}

/// Every fallible function: refuses in a forked child, fills the error out-parameter, returns the status.
func status(_ error: ErrorOut, _ body: () throws(OAuthError) -> Void) -> Int32 {
    error?.pointee = nil
    if shim_process_is_forked_child() { return report(forkedChild, to: error) }
    do throws(OAuthError) {
        try body()
        return VERSOLA_OK
    } catch let failure {
        return report(ErrorObject(failure), to: error)
    }
}

private func report(_ failure: ErrorObject, to error: ErrorOut) -> Int32 {
    error?.pointee = give(failure)
    return failure.cause
}
