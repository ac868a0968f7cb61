# frozen_string_literal: true

# Owns the APIs that try verbs, statuses, headers, cookies, bodies and negotiation.
module Parity
  # Verbs, statuses, headers, cookies, bodies, negotiation.
  class Basics < API_BASE
    get(:hello) { "hello world" }
    get(:empty) { nil }
    get(:number) { 42 }
    get(:document) { { message: "hello", list: [1, 2.5, nil, true], nested: { a: "b" } } }
    get(:array) { [{ a: 1 }, { a: 2 }] }
    get(:symbol) { :sym }
    get(:unicode) { { text: "äöü €  <b>&</b>" } }
    get(:returns) { return "early" if params[:early]; "late" }
    post(:things) { { created: params[:name] } }
    put(:things) { "put" }
    patch(:things) { "patched" }
    delete(:things) { nil }
    delete("things/:id") { "gone #{params[:id]}" }
    delete("things/:id/body") { body "said"; nil }
    delete("things/:id/blank") { body "  "; nil }
    head(:only_head) { "no body" }
    options(:own_options) { "mine" }
    route(:any, "any") { request.request_method }
    route(%i[get post], %w[several ways]) { "several" }
    get("teapot") { status 418; "short and stout" }
    get("created") { status :created; "made" }
    get("symbol_status") { status :no_such; "x" }
    get("no_content") { status 204; "dropped" }
    get("not_modified") { status 304; "dropped" }
    get("body_false") { body false }
    get("return_no_content") { return_no_content }
    get("body_set") { body "set"; "returned" }
    get("read_status") { "#{status} #{request.request_method}" }
    get("headers_out") { header "X-One", "1"; header "X-Gone", "x"; header "X-Gone", nil; header["X-Two"] = "2"; "ok" }
    get("headers_in") { [headers["X-Api-Key"], headers["Accept-Language"]].inspect }
    get("own_type") { content_type "application/vnd.own"; "typed" }
    get("type_with_charset") { content_type "text/plain; charset=utf-8"; { a: 1 } }
    get("json_by_type") { content_type "application/json"; { a: 1 } }
    get("redirect") { redirect "/elsewhere" }
    get("redirect_permanent") { redirect "/elsewhere", permanent: true }
    get("redirect_body") { redirect "/elsewhere", body: "Go there" }
    post("redirect") { redirect "https://example.org/a?b=c" }
    get("cookies") { cookies[:seen].to_s }
    get("set_cookies") do
      cookies[:plain] = "a b;c"
      cookies[:full] = { value: "v", path: "/p", domain: "example.org", expires: Time.at(0), httponly: true,
                         secure: true }
      cookies.delete :old
      "ok"
    end
    get("stream_each") { stream %w[a b c].each }
    get("captures/:one/x/:two") { "#{params[:one]}|#{params[:two]}" }
    get("files/*path") { params[:path] }
    get("optional(/:part)") { params.to_json }
    get("optional_part/(:part)") { params.to_json }
    get("year/:year", requirements: { year: /\d{4}/ }) { "year #{params[:year]}" }
    get("year/:name") { "name #{params[:name]}" }
    get("dots/:name", requirements: { name: %r{[^/]+} }) { params[:name] }
    get("both/:id") { "#{params[:id]} #{params['id']} #{params.key?(:id)}" }
    get("query") { params.to_json }
    post("form") { params.to_json }
    get("dig") { [params.dig(:a, :b), params[:a].is_a?(Hash), params.fetch(:zzz, "none")].to_json }
    get("env") { env["api.version"].inspect + env["REQUEST_METHOD"] }
    get("path_info") { request.path_info rescue request.path }
    get("raise") { raise ArgumentError, "unexpected" }
    get("error") { error! "failed" }
    get("error_status") { error! "failed", 409 }
    get("error_symbol") { error! "failed", :conflict }
    get("error_hash") { error!({ error: "failed", code: 7 }, 422) }
    get("error_headers") { header "X-Before", "b"; error!("failed", 401, "WWW-Authenticate" => "Basic") }
    get("error_html") { error! "<script>", 400 }
    get("throw") { throw :error, message: "thrown", status: 402 }
    get("order/:any") { "any" }
    get("order/fixed") { "fixed" }
    post("content_type_in") { headers["Content-Type"].to_s }
    get("caught_by_handler") do
      error! "not caught", 410
    rescue Exception
      "caught"
    end
    get("rescued_by_handler") do
      error! "passes", 410
    rescue StandardError
      "swallowed"
    end
  end
end
