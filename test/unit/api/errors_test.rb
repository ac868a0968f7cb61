# frozen_string_literal: true

require "support/api_case"
require "rexml/document"

# Errors as problem documents, and how exceptions travel.
class APIErrorsTest < APICase
  def strict
    @strict ||= api do
      format :json
      error_format :problem
      get(:plain) { error! "No such thing.", 404 }
      get(:coded) { error! "Only tea.", 418, { "X-Pot" => "1" }, code: :only_tea }
      get(:members) { error!({ error: "Too fast.", retry_seconds: 5, type: "https://example.org/slow" }, 429) }
      get(:members_alone) { error!({ retry_seconds: 5 }, 429) }
      get(:numbered) { error!({ 1 => "first" }, 422) }
      get(:reset) { error! "A body with 205.", 205 }
      get(:default) { error! "Odd." }
      get(:rescued) { raise ArgumentError, "wrong argument" }
      rescue_from(ArgumentError) { |e| error! e.message, 422 }
      get(:rescued_later) { raise ArgumentError, "wrong argument" }
      params do
        requires :name
        optional :age, type: Integer, values: 1..9
        optional :a
        optional :b
        mutually_exclusive :a, :b
      end
      get(:checked) { {} }
      post(:body) { {} }
      get("named/:name") { {} }
    end
  end

  def test_error_is_a_problem_document
    answer = get(strict, "/plain", headers: { "X-Request-Id" => "r-1" })
    assert_equal "application/problem+json", answer.headers["content-type"]
    assert_equal({ "type" => "about:blank", "title" => "Not Found", "status" => 404, "detail" => "No such thing.",
                   "code" => "not_found", "request_id" => "r-1" }, answer.json)
  end

  def test_error_takes_a_code_headers_and_members
    answer = get(strict, "/coded")
    assert_equal %w[only_tea 1], [answer.json["code"], answer.headers["x-pot"]]
    problem = get(strict, "/members").json
    assert_equal ["Too fast.", 5, "https://example.org/slow", "too_many_requests"],
                 problem.values_at("detail", "retry_seconds", "type", "code")
    assert_equal %w[type title status code request_id retry_seconds], get(strict, "/members_alone").json.keys
    assert_equal "first", get(strict, "/numbered").json["1"]
    assert_equal [205, ""], get(strict, "/reset").to_a.values_at(0, 2)
    assert_equal [500, "internal_server_error"], get(strict, "/default").json.values_at("status", "code")
  end

  def test_validation_errors_have_a_code_each
    problem = get(strict, "/checked?age=10&a=1&b=2").json
    assert_equal [400, "validation_failed"], problem.values_at("status", "code")
    assert_equal [{ "params" => ["name"], "message" => "is missing", "code" => "missing" },
                  { "params" => ["age"], "message" => "does not have a valid value", "code" => "value_not_allowed" },
                  { "params" => %w[a b], "message" => "are mutually exclusive", "code" => "mutually_exclusive" }],
                 problem["errors"]
    assert_equal "invalid_type", get(strict, "/checked?name=x&age=x").json["errors"].first["code"]
  end

  def test_what_the_framework_refuses_is_a_problem_too
    assert_equal [404, "not_found"], get(strict, "/nowhere").json.values_at("status", "code")
    answer = put(strict, "/plain")
    assert_equal [405, "method_not_allowed", "OPTIONS, GET, HEAD"],
                 [*answer.json.values_at("status", "code"), answer.headers["allow"]]
    assert_equal [400, "invalid_body"], post_json(strict, "/body", "{").json.values_at("status", "code")
    assert_equal [400, "invalid_parameters"], get(strict, "/checked?a=%ff").json.values_at("status", "code")
    assert_equal [400, "invalid_path"], get(strict, "/named/%ff").json.values_at("status", "code")
    type = { "Content-Type" => "application/x-other" }
    assert_equal [415, "unsupported_media_type"],
                 post(strict, "/body", body: "x", headers: type).json.values_at("status", "code")
    assert_equal [406, "not_acceptable"], get(strict, "/plain?format=xml").json.values_at("status", "code")
  end

  # Of broken JSON clients were told Grape's "message body does not match declared format", and not where it is broken.
  def test_a_problem_says_what_the_client_can_mend
    versioned = api do
      error_format :problem
      version "v1", using: :header, vendor: "acme", strict: true, cascade: false
      get(:x) { {} }
    end
    assert_match(/\AThe text is not JSON: .* at line 1 column 1\./, post_json(strict, "/body", "{").json["detail"])
    assert_equal "This path allows OPTIONS, GET, HEAD.", put(strict, "/plain").json["detail"]
    assert_equal "Accept header must be set.", get(versioned, "/x").json["detail"]
  end

  def test_problems_are_inherited_by_mounts_and_rescue_blocks
    inner = api { get(:x) { error! "inner", 409 } }
    mounting = strict
    outer = api do
      error_format :problem
      mount inner
      mount mounting => "/strict"
    end
    assert_equal "conflict", get(outer, "/x").json["code"]
    assert_equal "unprocessable_entity", get(outer, "/strict/rescued_later").json["code"]
    assert_equal "text/plain", get(inner, "/x").headers["content-type"]
  end

  def test_an_exception_that_nobody_rescues_leaves_the_api
    error = assert_raises(ArgumentError) { get(strict, "/rescued") }
    assert_equal "wrong argument", error.message
    assert_match(/errors_test/, error.backtrace.first)
  end

  def test_json_that_was_sent_as_a_form_is_told_which_header_it_needs
    strict.class_eval { params { requires :name } && post(:named) { {} } }
    form = { "Content-Type" => "application/x-www-form-urlencoded" }
    assert_equal "name is missing; the body came as a form: JSON needs the header Content-Type: application/json",
                 post(strict, "/named", body: '{"name":"ann"}', headers: form).json["detail"]
    assert_equal "name is missing", post(strict, "/named", body: "nme=ann", headers: form).json["detail"]
    assert_equal "name is missing", post_json(strict, "/named", {}).json["detail"]
  end

  # The message of a NameError had the whole endpoint in it, with the parameters of the request.
  def test_a_misspelled_name_tells_the_route_and_no_parameter
    misspelled = api { get(:login) { params && parms } }
    message = assert_raises(NameError) { get(misspelled, "/login?password=s3cret") }.message
    assert_match(%r{parms' for (an instance of )?#<\S+ GET /login}, message)
    refute_includes message, "s3cret"
  end

  def test_error_format_names_what_it_takes
    error = assert_raises(Elah::API::DefinitionError) { api { error_format :xml } }
    assert_match(/grape, problem, not :xml/, error.message)
  end

  def test_a_backtrace_is_shown_only_where_it_is_asked_for
    shown = api do
      format :json
      rescue_from ArgumentError, backtrace: true, original_exception: true
      get(:x) { raise ArgumentError, "seen" }
    end
    document = get(shown, "/x").json
    assert_match(/errors_test/, document["backtrace"].first)
    assert_equal "#<ArgumentError: seen>", document["original_exception"]
  end

  def test_error_inside_a_helper_ends_the_handler_and_runs_ensure
    seen = []
    ending = api do
      helpers { def stop! = error!("stopped", 403) }
      get(:x) do
        stop!
        seen << :after
      rescue StandardError
        seen << :rescued
      ensure
        seen << :ensured
      end
    end
    assert_equal [403, "stopped"], get(ending, "/x").to_a.values_at(0, 2)
    assert_equal [:ensured], seen
  end

  def test_an_exception_in_a_rescue_block_leaves_the_api
    double = api do
      rescue_from(ArgumentError) { raise "twice" }
      get(:x) { raise ArgumentError, "once" }
    end
    error = assert_raises(RuntimeError) { get(double, "/x") }
    assert_equal ["twice", "once"], [error.message, error.cause.message]
  end

  def test_what_the_server_says_of_a_request_passes_rescue_from_all
    passing = api do
      content_type :txt, "text/plain"
      content_type :own, "text/x-own"
      rescue_from(:all) { error! "taken", 418 }
      get(:late) { raise Elah::DeadlineExceeded, "late" }
      get(:other) { raise Elah::Error, "other" }
      parser :own, ->(_text, _env) { raise Elah::BadRequest.new("too long", 413, "body_too_long") }
      post(:body) { "x" }
    end
    assert_raises(Elah::DeadlineExceeded) { get(passing, "/late") }
    assert_equal 418, get(passing, "/other").status
    assert_raises(Elah::BadRequest) { post(passing, "/body", body: "x", headers: { "Content-Type" => "text/x-own" }) }
  end

  # A block that logged the parameters raised the error of reading them again: a 500 for the query `?a=%`.
  def test_a_rescue_block_can_read_params_that_are_malformed
    logging = api do
      rescue_from(:all) { |e| error!("#{e.class.name[/\w+\z/]} #{params.to_h}", e.status) }
      get("x/:id") { params.to_s }
      post("x/:id") { params.to_s }
      params { optional :n, type: Integer }
      get("late/:id") { params.to_s }
    end
    refused = [400, 'InvalidParameters {"id"=>"5"}']
    form = { "Content-Type" => "application/x-www-form-urlencoded" }
    [get(logging, "/x/5?a=%"), get(logging, "/late/5?a=%"),
     post(logging, "/x/5", body: "a=%", headers: form),
     post(logging, "/x/5", body: "x", headers: { "Content-Type" => "multipart/form-data" })].each do |answer|
      assert_equal refused, [answer.status, answer.body]
    end
    assert_equal 'ValidationErrors {"n"=>"z", "id"=>"5"}', get(logging, "/late/5?n=z").body
  end

  # The error was escaped when the type was exactly "text/html": with a charset, the script ran in the reader's browser.
  def test_an_error_page_is_escaped_whatever_the_spelling_of_its_type
    ["text/html", "text/html; charset=utf-8", "Text/HTML;charset=UTF-8", " text/html ;a=b", "application/xhtml+xml",
     "application/xhtml+xml; charset=utf-8", "image/svg+xml", "text/xml; charset=utf-8"].each do |type|
      page = api do
        content_type :page, type
        default_format :page
        get(:told) { error! params[:text], 422 }
      end
      assert_escaped type, get(page, "/told?format=%3Cscript%3Ealert(1)")
      assert_escaped type, get(page, "/told?text=%3Cscript%3Ealert(1)")
    end
  end

  def test_an_error_page_is_escaped_when_the_handler_has_set_its_type
    page = api do
      get(:told) { error! params[:text], 422, "Content-Type" => "text/html; charset=utf-8" }
      get(:listed) { error! params[:text], 422, "Content-Type" => ["text/html; charset=utf-8"] }
    end
    %w[/told /listed].each { |path| assert_escaped path, get(page, "#{path}?text=%3Cscript%3E") }
  end

  def test_an_error_that_is_no_page_is_not_escaped
    plain = api do
      content_type :txt, "text/plain; charset=utf-8"
      content_type :xml, "application/xml"
      content_type :json, "application/json"
      get(:told) { error! "a < b", 422 }
    end
    assert_equal "a < b", get(plain, "/told.txt").body
    assert_equal "a < b", get(plain, "/told.json").json["error"]
    assert_includes get(plain, "/told.xml").body, "<message>a &lt; b</message>"
  end

  # The key of a Hash was a tag of the client, and a control character is none of XML.
  def test_an_error_in_xml_is_well_formed_whatever_its_text
    hostile = api { format :xml; get(:x) { error!({ params[:name] => params[:text], größe: 1, "1st" => 2 }, 400) } }
    body = get(hostile, "/x?name=%3Cscript%3E%00a:b%20%C3%97&text=%3Cb%3E%00%1B%0A%EF%BF%BE").body
    elements = REXML::Document.new(body).root.elements.map { |element| [element.name, element.text] }
    assert_equal [["_script__a_b__", "<b>\uFFFD\uFFFD\n\uFFFD"], %w[größe 1], %w[_1st 2]], elements
    broken = api { format :xml; get(:x) { error!("a\xFFb\xC3".b, 400) } }
    assert_equal "a\uFFFDb\uFFFD", REXML::Document.new(get(broken, "/x").body).root.elements["message"].text
  end

  # A call of a gather whose error! gave way to its fallback made the response of the handler a 404.
  def test_an_error_that_the_handler_rescues_leaves_its_status_alone
    statuses = []
    searching = api do
      finally { statuses << status }
      get(:found) do
        begin
          error! "no user", 404
        rescue Elah::Framework::Halt
          "found"
        end
      end
      get(:lost) { error! "no user", :not_found }
    end
    assert_equal 200, get(searching, "/found").status
    assert_equal 404, get(searching, "/lost").status
    assert_equal [200, 404], statuses, "finally hooks see the status of an error"
  end

  def test_rescue_from_takes_a_block_or_with
    assert_raises(ArgumentError) { api { rescue_from(StandardError, with: :x) { nil } } }
    assert_raises(ArgumentError) { api { rescue_from StandardError, with: 5 } }
  end

  private

  def assert_escaped(context, answer)
    assert_includes 400..499, answer.status
    assert_includes answer.body, "&lt;script&gt;", context
    refute_includes answer.body, "<script>", context
  end
end
