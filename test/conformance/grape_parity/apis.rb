# frozen_string_literal: true

# Owns the APIs of the parity test. The file is loaded twice, in processes of their own: with API_BASE = Grape::API and
# with API_BASE = Elah::API. Nothing else in it knows which.
require "bigdecimal"
require "date"
require "json"
require "set"
require "time"

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
      cookies[:full] = { value: "v", path: "/p", domain: "example.org", expires: Time.at(0), httponly: true, secure: true }
      cookies.delete :old
      "ok"
    end
    get("stream_each") { stream %w[a b c].each }
    get("captures/:one/x/:two") { "#{params[:one]}|#{params[:two]}" }
    get("files/*path") { params[:path] }
    get("optional(/:part)") { params.to_json }
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

  # One fixed format, hooks, helpers, entities, declared.
  class Documents < API_BASE
    # A stand-in for an entity class: anything that responds to `represent`.
    class LinkEntity
      def self.represent(object, options = {})
        return object.map { |item| represent(item, options) } if object.is_a?(Array)

        { code: object.code, admin: options[:admin], version: options[:version] }.compact
      end
    end

    # Finds its entity by itself.
    class Found
      Entity = Class.new do
        def self.represent(object, _options = {}) = { found: object.value }
      end
      attr_reader :value

      def initialize(value) = @value = value
    end

    Link = Struct.new(:code)

    # Shared helpers, and parameters for `use`.
    module Paging
      extend(API_BASE.name == "Grape::API" ? Grape::API::Helpers : Elah::API::SharedParameters)

      params :paging do |options|
        optional :page, type: Integer, default: 1
        optional :per_page, type: Integer, default: 10, values: 1..(options[:max] || 100)
      end

      def shared = "shared"
    end

    format :json
    helpers Paging
    helpers do
      def shout(text) = text.to_s.upcase
      def track(step) = (@steps ||= []) << step

      params :named do
        requires :name, type: String
      end
    end

    before { track "before" }
    before_validation { track "before_validation" }
    after_validation { track "after_validation" }
    after { header "X-Steps", track("after").join(",") }

    get(:steps) { @steps }
    get(:text) { "a string" }
    get(:nothing) { nil }
    get(:helped) { { a: shout("x"), b: shared } }
    post(:echo) { params }
    put(:echo) { params }
    get(:error) { error! "no", 403 }
    get(:redirect) { redirect "/x" }
    params { requires :n, type: Integer }
    get(:checked) { { n: params[:n], steps: @steps } }
    get(:present_plain) { present({ a: 1 }) }
    get(:present_with) { present Link.new("abc"), with: LinkEntity }
    get(:present_options) { present Link.new("abc"), with: LinkEntity, admin: true }
    get(:present_list) { present [Link.new("a"), Link.new("b")], with: LinkEntity }
    get(:present_root) { present Link.new("abc"), with: LinkEntity, root: :link }
    get(:present_found) { present Found.new(3) }
    get(:present_keys) { present :total, 2; present :links, [Link.new("a")], with: LinkEntity }
    get(:present_merged) { present Link.new("a"), with: LinkEntity; present Link.new("b"), with: LinkEntity, admin: 1 }
    params { use :paging }
    get(:page) { declared(params) }
    params { use :paging, max: 20 }
    get(:page_max) { declared(params) }
    params { use :named, :paging }
    get(:named) { declared(params) }
    params do
      requires :first, type: String
      optional :second, type: Integer
      optional :flags, type: Array[String]
      optional :kinds, type: Set[String]
      optional :address, type: Hash do
        requires :street, type: String
        optional :zip, type: Integer
      end
      optional :rows, type: Array do
        requires :key
        optional :note
      end
      optional :free, type: Hash
      optional :old, as: :renamed
    end
    post(:declared) { declared(params) }
    params do
      requires :first
      optional :second
      optional :group, type: Hash do
        optional :inner
      end
    end
    post(:declared_given) { declared(params, include_missing: false) }
    params { requires :outer }
    namespace "spaces/:space" do
      params { requires :inner }
      post(:all) { declared(params) }
      params { requires :inner }
      post(:own) { declared(params, include_parent_namespaces: false) }
      post(:no_own) { declared(params) }
    end
    get(:declared_without) { declared(params) }
    route_setting :custom, { level: 3 }
    get(:route_setting) { { level: route.settings[:custom][:level], description: route.description } }
    desc "Told", detail: "More"
    get(:described) { { description: route.description, version: route.version } }
  end

  # The order of hooks, and how far they reach.
  class Hooks < API_BASE
    format :json
    helpers { def track(step) = (@steps ||= []) << step }
    before { track "first" }
    finally { track "finally" }
    get(:first) { @steps }
    before { track "second" }
    get(:second) { @steps }
    namespace(:inner) do
      before { track "inner" }
      after { header "X-Steps", track("after").join(",") }
      get(:third) { @steps.dup }
      post(:third) { error! @steps.dup, 400 }
    end
    get(:fourth) { @steps.dup }
    get(:declared_in_time) { declared(params) }
  end

  # What exceptions become.
  class Rescues < API_BASE
    Odd = Class.new(StandardError)
    Odder = Class.new(Odd)
    Handled = Class.new(StandardError)
    Named = Class.new(StandardError)
    NoArgument = Class.new(StandardError)
    Silent = Class.new(StandardError)
    Unrescued = Class.new(StandardError)
    Raw = Class.new(StandardError)
    Plain = Class.new(StandardError)
    Exact = Class.new(StandardError)
    MoreThanExact = Class.new(Exact)

    format :json
    helpers do
      def named(error) = error!("named #{error.message}", 444)
      def no_argument = error!("no argument", 445)
    end
    rescue_from(Odd) { |e| error!("odd #{e.message}", 441) }
    rescue_from Handled, with: ->(e) { error!({ error: e.message, kind: "handled" }, 442, "X-Handled" => "yes") }
    rescue_from Named, with: :named
    rescue_from NoArgument, with: :no_argument
    rescue_from(Silent) { |_e| "not a response" }
    rescue_from Plain
    rescue_from(Exact, rescue_subclasses: false) { |e| error!(e.message, 448) }
    rescue_from(Raw) { |e| rack_response("raw #{e.message}", 446, "Content-Type" => "text/x-raw") }
    rescue_from(API_EXCEPTIONS::ValidationErrors) do |e|
      error!({ messages: e.full_messages, fields: e.errors.keys.flatten }, 422)
    end

    get(:odd) { raise Odd, "one" }
    get(:odder) { raise Odder, "two" }
    get(:handled) { header "X-Lost", "1"; status 201; raise Handled, "three" }
    get(:named) { raise Named, "four" }
    get(:no_argument) { raise NoArgument, "five" }
    get(:silent) { raise Silent, "six" }
    get(:plain) { raise Plain, "plain" }
    get(:raw) { raise Raw, "seven" }
    get(:exact) { raise Exact, "exactly" }
    get(:more_than_exact) { raise MoreThanExact, "more" }
    get(:unrescued) { raise Unrescued, "eight" }
    params do
      requires :a, type: Integer
      requires :b
    end
    get(:invalid) { "x" }
    get(:fine) { "fine" }
    namespace :inner do
      rescue_from(Odd) { |e| error!("inner #{e.message}", 447) }
      get(:odd) { raise Odd, "one" }
      get(:handled) { raise Handled, "two" }
    end
  end

  # rescue_from :all and defaults.
  class RescuesAll < API_BASE
    format :json
    default_error_status 400
    rescue_from :all do |e|
      error!("all: #{e.message}", 503)
    end
    get(:anything) { raise "x" }
    get(:error) { error! "default status" }
    params { requires :a }
    get(:invalid) { "x" }
    get(:exception) { raise NotImplementedError, "not a StandardError" }
  end

  # rescue_from without a block.
  class RescuesDefault < API_BASE
    format :txt
    rescue_from :all
    get(:anything) { raise "plain" }
    params { requires :a }
    get(:invalid) { "x" }
  end

  # Its own exceptions keep their answers.
  class RescuesOwn < API_BASE
    format :json
    rescue_from(:all) { |e| error!("all: #{e.message}", 503) }
    rescue_from :grape_exceptions
    get(:anything) { raise "x" }
    params { requires :a }
    get(:invalid) { "x" }
  end

  # A type of the app's own.
  class Color
    attr_reader :name

    def self.parse(value)
      raise ArgumentError, "not a color" unless %w[red green].include?(value)

      new(value)
    end

    def initialize(name) = @name = name
    def to_json(*state) = "color:#{name}".to_json(*state)
  end

  # Coercion to every type.
  class Types < API_BASE
    # Shows a value with its class.
    module Shown
      def shown(value) = { value: value.is_a?(Set) ? value.to_a : value, class: value.class.name.sub(/\A.*(Params|HashWithIndifferentAccess)\z/, "Hash") }
    end

    format :json
    helpers Shown
    {
      integer: Integer, float: Float, decimal: BigDecimal, numeric: Numeric, date: Date, time: Time,
      date_time: DateTime, boolean: Boolean, string: String, symbol: Symbol, hash: Hash, array: Array, json: JSON,
      json_array: Array[JSON], integers: Array[Integer], strings: Array[String], unique: Set[Integer], color: Color,
      colors: Array[Color], mixed: [Integer, String], dates_or_numbers: [Integer, Date], set: Set, file: File, nested: Array[Array[Integer]]
    }.each do |name, type|
      params { optional :v, type: type }
      get(name) { shown(params[:v]) }
      params { optional :v, type: type }
      post(name) { shown(params[:v]) }
    end
    params { optional :v, types: [Integer, Boolean, String] }
    get(:one_of) { shown(params[:v]) }
    params { optional :v, types: [Integer, Array[Integer]] }
    get(:one_or_many) { shown(params[:v]) }
    params { optional :v, type: Integer, coerce_with: ->(value) { value.to_s.length } }
    get(:coerce_with) { shown(params[:v]) }
    params { optional :v, type: Array[Integer], coerce_with: ->(value) { value.split(",").map(&:to_i) } }
    get(:split) { shown(params[:v]) }
    params { optional :v, type: Hash, coerce_with: JSON }
    get(:json_hash) { shown(params[:v]) }
    params { requires :v, type: { value: Integer, message: "must be a whole number" } }
    get(:message) { shown(params[:v]) }
    params do
      requires :j, type: JSON do
        requires :a, type: Integer
        optional :b, type: Array[Integer]
      end
    end
    get(:json_group) { shown(params[:j]) }
    params do
      requires :js, type: Array[JSON] do
        requires :a, type: Integer
      end
    end
    get(:json_groups) { shown(params[:js]) }
    route_param :id, type: Integer do
      get { shown(params[:id]) }
    end
  end

  # The rules.
  class Rules < API_BASE
    format :json
    params { requires :name }
    get(:requires) { params }
    params { requires :a, :b, type: Integer }
    get(:requires_two) { params }
    params { requires :name, message: "must be given" }
    get(:requires_message) { params }
    params { requires :name, allow_blank: false }
    get(:not_blank) { params }
    params { optional :name, allow_blank: { value: false, message: "must say something" } }
    get(:not_blank_message) { params }
    params { requires :v, values: %w[a b] }
    get(:values) { params }
    params { optional :v, type: Integer, values: 1..5, default: 3 }
    get(:range) { params }
    params { optional :v, type: Integer, values: { value: 1..5, message: "is out of range" } }
    get(:range_message) { params }
    params { optional :v, values: -> { %w[x y] } }
    get(:values_proc) { params }
    params { optional :v, type: Integer, values: ->(v) { v.even? } }
    get(:values_judge) { params }
    params { optional :v, except_values: %w[root admin] }
    get(:except_values) { params }
    params { optional :v, type: Array[Integer], values: [1, 2, 3] }
    get(:list_values) { params }
    params { optional :v, type: Symbol, values: %i[up down] }
    get(:symbol_values) { params }
    params { requires :v, regexp: /\A[a-z]+\z/ }
    get(:regexp) { params }
    params { optional :v, regexp: { value: /\A\d+\z/, message: "must be digits" } }
    get(:regexp_message) { params }
    params { requires :password; requires :again, same_as: :password }
    get(:same_as) { params }
    params { optional :v, default: "static" }
    get(:default) { params }
    params { optional :v, type: Array, default: -> { [1] } }
    get(:default_proc) { params }
    params { optional :v, type: Boolean, default: false }
    get(:default_false) { params }
    params { requires :a, fail_fast: true; requires :b }
    get(:fail_fast) { params }
    params { optional :a; optional :b; optional :c; mutually_exclusive :a, :b, :c }
    get(:mutually_exclusive) { params }
    params { optional :a; optional :b; exactly_one_of :a, :b }
    get(:exactly_one_of) { params }
    params { optional :a; optional :b; at_least_one_of :a, :b, message: "need one" }
    get(:at_least_one_of) { params }
    params { optional :a; optional :b; all_or_none_of :a, :b }
    get(:all_or_none_of) { params }
    params do
      optional :kind
      given :kind do
        requires :size, type: Integer
      end
      given kind: ->(kind) { kind == "big" } do
        requires :reason
      end
    end
    get(:given) { params }
    params { with(type: Integer, values: 1..9) { requires :a; optional :b } }
    get(:with) { params }
    params { requires :all, using: { a: { type: Integer }, b: { type: String } }, except: :b }
    get(:using) { params }
    params { optional :v, as: :w, type: Integer }
    get(:as) { { params: params, declared: declared(params) } }
    params { requires :n, desc: "number", documentation: { example: 1 }, type: Integer }
    get(:documented) { { documented: route.params["n"][:desc], required: route.params["n"][:required] } }
    params { optional :v, type: Integer, values: 1..5, allow_blank: true }
    get(:blank_values) { params }
  end

  # Groups of parameters.
  class Groups < API_BASE
    format :json
    params do
      requires :address, type: Hash do
        requires :street, type: String
        optional :zip, type: Integer, default: 9999
        optional :geo, type: Hash do
          requires :lat, type: Float
          requires :lon, type: Float
        end
      end
    end
    post(:hash) { params }
    params do
      requires :items, type: Array do
        requires :name, type: String, allow_blank: false
        optional :count, type: Integer, default: 1
        exactly_one_of :price, :free
        optional :price, type: Integer
        optional :free, type: Boolean
      end
    end
    post(:array) { params }
    params do
      optional :items, type: Array do
        requires :name
        optional :tags, type: Array do
          requires :label
        end
      end
    end
    post(:nested_arrays) { params }
    params do
      optional :filter, type: Hash do
        optional :from, type: Date
        optional :to, type: Date
        all_or_none_of :from, :to
      end
    end
    get(:optional_hash) { params }
    params do
      optional :rows, type: Array do
        optional :kind
        given :kind do
          requires :size, type: Integer
        end
      end
    end
    post(:given_in_array) { params }
    params do
      requires :items, type: Array do
        requires :h, type: Hash do
          requires :x, type: Integer
        end
      end
    end
    post(:hash_in_array) { params }
    params do
      group :g, type: Hash do
        requires :x
      end
    end
    post(:group) { params }
  end

  # Bodies and formats of the app's own.
  class Bodies < API_BASE
    content_type :json, "application/json"
    content_type :txt, "text/plain"
    content_type :csv, "text/csv"
    content_type :xjson, "application/vnd.x+json"
    default_format :json
    formatter :csv, ->(object, _env) { object.is_a?(Array) ? object.map { |row| row.join(",") }.join("\n") : object.to_s }
    parser :csv, ->(text, _env) { { "rows" => text.split("\n").map { |line| line.split(",") } } }
    error_formatter :csv, ->(message, _backtrace, _options, _env, _original) { "error,#{message}" }
    get(:rows) { [[1, 2], [3, 4]] }
    post(:rows) { params[:rows] || params }
    get(:error) { error! "bad", 400 }
    post(:raw) { env["api.request.body"].inspect }
    post(:input) { env["api.request.input"].to_s }
    post(:list) { { body: env["api.request.body"], params: params } }
    put(:doc) { params }
    patch(:doc) { params }
    delete(:doc) { params }
    post(:upload) do
      file = params[:file]
      { name: file[:filename], type: file[:type], content: file[:tempfile].read, note: params[:note] }
    end
    params { requires :file, type: File }
    post(:checked_upload) { { name: params[:file][:filename] } }
  end

  # default_format and fixed txt.
  class Texts < API_BASE
    format :txt
    get(:hello) { "hello" }
    get(:hash) { { a: 1 } }
    get(:error) { error! "text", 400 }
    get(:error_hash) { error!({ a: 1 }, 400) }
    params { requires :v, type: Integer }
    get(:invalid) { "x" }
    post(:body) { params.to_json }
  end

  # Versions in the path.
  class PathVersions < API_BASE
    format :json
    prefix :api
    version "v1", "v2", using: :path do
      get(:shared) { { version: version } }
      get("/") { { root: version } }
      get("links/:version") { params }
    end
    version "v2" do
      get(:new) { { version: version } }
    end
    get(:unversioned) { { version: version } }
  end

  # Versions in the Accept header.
  class HeaderVersions < API_BASE
    format :json
    version "v1", "v2", using: :header, vendor: "acme"
    get(:x) { { old: version } }
    version "v3", using: :header, vendor: "acme" do
      get(:x) { { new: version } }
      get(:y) { { only: version } }
    end
  end

  # Strictly.
  class StrictHeaderVersions < API_BASE
    format :json
    version "v1", using: :header, vendor: "acme", strict: true, cascade: false
    get(:x) { { v: version } }
  end

  # Versions in a parameter.
  class ParamVersions < API_BASE
    format :json
    version "v1", using: :param, parameter: "ver"
    get(:x) { { v: version } }
  end

  # Versions in Accept-Version.
  class AcceptVersions < API_BASE
    format :json
    version("v1", using: :accept_version_header) { get(:x) { { one: version } } }
    version("v2", using: :accept_version_header) { get(:x) { { two: version } } }
    version("v3", using: :accept_version_header, strict: true, cascade: false) { get(:strict) { { three: version } } }
  end

  # Mounted into others.
  class Inner < API_BASE
    before { header "X-Inner", "1" }
    helpers { def whose = "inner" }
    get(:x) { "#{whose} #{header['X-Outer']}" }
    post(:x) { raise ArgumentError, "inner" }
    params { requires :n, type: Integer }
    get("y/:n") { "n #{params[:n] + 1}" }
  end

  # Mounts.
  class Outer < API_BASE
    prefix "api"
    helpers { def whose = "outer" }
    before { header "X-Outer", "1" }
    rescue_from(ArgumentError) { |e| error!("outer rescued #{e.message}", 418) }
    mount Inner
    mount Inner => "/sub"
    namespace(:ns) { mount Inner => "/deep" }
    mount ->(env) { [201, { "Content-Type" => "text/plain", "X-Rack" => "1" }, [env["PATH_INFO"], env["SCRIPT_NAME"]]] } => "/rack"
    get(:own) { whose }
    params { requires :token }
    namespace :guarded do
      mount Inner
    end
  end

  # A subclass.
  class Inherited < Texts
    get(:mine) { "mine" }
  end

  # No cascade, no OPTIONS, no HEAD.
  class Closed < API_BASE
    cascade false
    do_not_route_head!
    do_not_route_options!
    get(:x) { "x" }
    post(:x) { "x" }
  end

  # What an app says of one rule or another at the same time.
  class Scopes < API_BASE
    format :json
    helpers { def level = "top" }
    before { header "X-Top", "1" }
    namespace :a do
      before { header "X-A", "1" }
      helpers { def level = "a" }
      get { { level: level } }
      group(:b) do
        after { header "X-B", level }
        get(:c) { { level: level } }
      end
      segment(:s) { get { "segment" } }
    end
    resources(:rs) { get { "resources" } }
    scope(:nothing) { get(:scoped) { "scoped" } }
    get(:top) { { level: level } }
    route_param(:slug, requirements: /[a-z]+/) { get { params[:slug] } }
  end
end
