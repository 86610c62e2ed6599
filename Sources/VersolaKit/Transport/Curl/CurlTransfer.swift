// SPDX-License-Identifier: Apache-2.0
import CShims

/// One request on its way, from its set-up to its answer; made, run and ended on the I/O thread, which is what `@unchecked`
/// stands for.
final class CurlTransfer: @unchecked Sendable {
    let easy: UnsafeMutableRawPointer

    private let target: URLParts
    private let completion: (Result<HTTPResponse, TransportFailure>) -> Void
    private let limit: Int
    private let closing: Closing?
    private var closingRegistration: UInt64?
    /// Which one it is of those that the I/O thread has started.
    private(set) var number: UInt64 = 0
    // What curl keeps pointers to; the body is zeroed when it goes.
    private let url: CurlURL
    private let requestBody: Secret
    private let trust: CurlTrust?
    private let message = UnsafeMutableBufferPointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    private var fieldList: UnsafeMutablePointer<curl_slist>?

    /// The first option that curl would not take: the request is then not sent.
    private var refusal = CURLE_OK
    private var sendings = 0
    private var headBytes = 0
    private var headIsComplete = false
    private var responseBody: [UInt8] = []
    private var bodyIsOverLimit = false

    init?(
        _ request: HTTPRequest, _ url: CurlURL, _ parts: URLParts, _ settings: TransportSettings, _ trust: CurlTrust?,
        _ completion: @escaping (Result<HTTPResponse, TransportFailure>) -> Void
    ) {
        guard let easy = curl_easy_init() else { return nil }
        self.easy = easy
        target = parts
        self.url = url
        self.trust = trust
        self.limit = settings.responseLimit
        self.closing = request.unlessClosed
        self.requestBody = Secret(request.body)
        self.completion = completion
        message.initialize(repeating: 0)
        setLimits(settings)
        setTrust()
        setRoute(parts, settings, fresh: request.carriesOneTimeCredential)
        setContent(request)
        setCallbacks()
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_slist_free_all(fieldList)
        message.deallocate()
    }

    /// Calls `handler` with the number when nobody wants the answer any more (``HTTPRequest/unlessClosed``), on any thread.
    func whenClosed(number: UInt64, _ handler: @escaping @Sendable (UInt64) -> Void) {
        self.number = number
        closingRegistration = closing?.onClose { handler(number) }
    }

    /// The one end of it: takes curl's verdict, or that of the set-up if it was bad.
    func finish(_ verdict: CURLcode) {
        closing?.forget(closingRegistration)
        completion(outcome(verdict))
    }
}

// MARK: - Set-up

extension CurlTransfer {
    /// False if it must not be sent: an option that keeps it safe is not there.
    var isReady: Bool { refusal == CURLE_OK }

    private func setLimits(_ settings: TransportSettings) {
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_TIMEOUT_MS, Int(Int32(clamping: settings.requestTimeoutMillis)))
        set(CURLOPT_CONNECTTIMEOUT_MS, Int(Int32(clamping: settings.connectTimeoutMillis)))
        // Else the end of a transfer waits for its name look-up. Unknown before 7.87, and no matter of safety.
        _ = shim_curl_set_long(easy, CURLOPT_QUICK_EXIT, 1)
    }

    private func setTrust() {
        set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        set(CURLOPT_PROXY_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        // On by default; said because everything rests on it.
        set(CURLOPT_SSL_VERIFYPEER, 1)
        set(CURLOPT_SSL_VERIFYHOST, 2)
        guard let trust else { return }
        trust.pem.withUnsafeBytes { pem in
            take(shim_curl_set_blob(easy, CURLOPT_CAINFO_BLOB, pem.baseAddress, pem.count))
            take(shim_curl_set_blob(easy, CURLOPT_PROXY_CAINFO_BLOB, pem.baseAddress, pem.count))
        }
    }

    private func setRoute(_ parts: URLParts, _ settings: TransportSettings, fresh: Bool) {
        take(shim_curl_set_close_on_exec(easy))
        take(shim_curl_set_pointer(easy, CURLOPT_CURLU, UnsafeRawPointer(url.handle)))
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_FOLLOWLOCATION, 0)
        // Not even the environment's. For other hosts curl itself honours `no_proxy`, with a proxy that was set too.
        if parts.isLoopback { set(CURLOPT_PROXY, "") } else if let proxy = settings.proxy { set(CURLOPT_PROXY, proxy) }
        guard fresh else { return }
        // A one-time credential: no connection that may already be dying, no protocol that resends (behaviour §3, "Trap").
        set(CURLOPT_FRESH_CONNECT, 1)
        set(CURLOPT_FORBID_REUSE, 1)
        set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
    }

    private func setContent(_ request: HTTPRequest) {
        switch request.method {
        case "GET" where requestBody.count == 0: break
        case "HEAD": set(CURLOPT_NOBODY, 1)
        default:
            if requestBody.count > 0 || ["POST", "PUT", "PATCH"].contains(request.method) {
                requestBody.withBytes { take(shim_curl_set_body(easy, $0.baseAddress, $0.count)) }
            }
            set(CURLOPT_CUSTOMREQUEST, request.method)
        }
        set(CURLOPT_USERAGENT, "versola/" + versolaVersion)
        set(CURLOPT_ACCEPT_ENCODING, "gzip")
        // No waiting for "100 Continue", and no media type that was not given.
        add("Expect:")
        if !request.fields.contains(where: { $0.name.lowercased() == "content-type" }) { add("Content-Type:") }
        // How a message is framed is curl's affair (RFC 9112 §6).
        let framing: Set = ["content-length", "transfer-encoding", "connection", "expect"]
        for field in request.fields where !framing.contains(field.name.lowercased()) {
            // "Name;" is curl's way to say an empty value, "Name:" takes a field of its own out.
            add(field.value.allSatisfy(\.isWhitespace) ? field.name + ";" : "\(field.name): \(field.value)")
        }
        take(shim_curl_set_pointer(easy, CURLOPT_HTTPHEADER, fieldList))
    }

    private func set(_ option: CURLoption, _ value: Int) {
        take(shim_curl_set_long(easy, option, value))
    }

    private func set(_ option: CURLoption, _ value: String) {
        take(shim_curl_set_pointer(easy, option, value))
    }

    private func take(_ code: CURLcode) {
        if refusal == CURLE_OK { refusal = code }
    }

    private func add(_ field: String) {
        guard let list = curl_slist_append(fieldList, field) else { return take(CURLE_OUT_OF_MEMORY) }
        fieldList = list
    }
}

// MARK: - Curl calls back

extension CurlTransfer {
    private func setCallbacks() {
        let context = Unmanaged.passUnretained(self).toOpaque()
        for option in [CURLOPT_WRITEDATA, CURLOPT_HEADERDATA, CURLOPT_PREREQDATA] {
            take(shim_curl_set_pointer(easy, option, context))
        }
        take(shim_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, message.baseAddress))
        take(
            shim_curl_set_sink(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
                CurlTransfer.from(context)?.takeBody(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
            })
        take(
            shim_curl_set_sink(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
                CurlTransfer.from(context)?.takeLine(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
            })
        take(
            shim_curl_set_prerequest(easy) { context, _, _, _, _ in
                CurlTransfer.from(context)?.maySend() == true ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
            })
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> CurlTransfer? {
        context.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Decompressed bytes; a count other than theirs ends the transfer.
    private func takeBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard bytes.count <= limit - responseBody.count else {
            bodyIsOverLimit = true
            return 0
        }
        responseBody.append(contentsOf: bytes)
        return bytes.count
    }

    /// A line of the head, only counted: curl keeps the fields. But curl takes a head that is cut off for a whole one.
    private func takeLine(_ line: UnsafeRawBufferPointer) -> Int {
        guard line.count <= limit - headBytes else { return 0 }
        headBytes += line.count
        if line.starts(with: "HTTP/".utf8) { headIsComplete = false }
        if line.elementsEqual("\r\n".utf8) || line.elementsEqual("\n".utf8) { headIsComplete = true }
        return line.count
    }

    /// Curl resends on its own when a reused connection dies before an answer, and when a stream is refused: once is all
    /// there is (behaviour §3, "Trap").
    private func maySend() -> Bool {
        sendings += 1
        return sendings == 1
    }
}

// MARK: - Outcome

extension CurlTransfer {
    private func outcome(_ verdict: CURLcode) -> Result<HTTPResponse, TransportFailure> {
        var verdict = isReady ? verdict : refusal
        if verdict == CURLE_OK, !headIsComplete { verdict = CURLE_PARTIAL_FILE }
        if verdict == CURLE_OK { return .success(response(responseBody)) }
        // The provider answered, and not with what can be used: its status counts (behaviour §2, `Server`).
        if bodyIsOverLimit || verdict == CURLE_BAD_CONTENT_ENCODING || headSaysAll {
            var response = response([])
            response.isComplete = false
            return .success(response)
        }
        let text =
            sendings > 1
            ? "the connection ended before an answer; not sent again"
            : String(decoding: message.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return .failure(
            TransportFailure(verdict, easy: easy, to: target, message: text, mayHaveBeenSent: sendings > 0))
    }

    /// The answer to this request, not a proxy's, is that the provider is in trouble: what it asks for, `Retry-After` too, is
    /// in the head, and counts when the rest never comes (behaviour §3).
    private var headSaysAll: Bool {
        let status = shim_curl_get_long(easy, CURLINFO_RESPONSE_CODE)
        return sendings == 1 && headIsComplete && (status == 408 || status == 429 || (500...599).contains(status))
    }

    /// A value whose line was folded (RFC 9112 §5.2) right after the colon: curl leaves the line's end in front of it.
    private static func unfolded(_ value: UnsafePointer<CChar>) -> String {
        var value = value
        while [0x09, 0x0a, 0x0d, 0x20].contains(value.pointee) { value += 1 }
        return String(cString: value)
    }

    private func response(_ body: [UInt8]) -> HTTPResponse {
        var fields: [HTTPField] = []
        var previous: UnsafeMutablePointer<curl_header>?
        // Those of the last response: no interim ones (1xx), none of a proxy's tunnel, no trailers.
        while let field = curl_easy_nextheader(easy, UInt32(CURLH_HEADER), -1, previous) {
            fields.append(
                HTTPField(name: String(cString: field.pointee.name), value: Self.unfolded(field.pointee.value)))
            previous = field
        }
        let status = shim_curl_get_long(easy, CURLINFO_RESPONSE_CODE)
        return HTTPResponse(status: status, fields: fields, body: body)
    }
}
