# frozen_string_literal: true

# Owns the APIs that try what real apps write beside the plain vocabulary: rules and errors of their own, types in
# shared modules, formats that a handler sets, paths that take what is below them.
module Parity
  # A rule that remembers something in its instance.
  class FirstTime < API_VALIDATOR
    def validate_param!(name, params)
      @seen ||= []
      if @seen.include?(params[name])
        raise API_EXCEPTIONS::Validation.new(params: [@scope.full_name(name)], message: "was seen")
      end

      @seen << params[name]
    end
  end

  # A name with an acronym, and all that the constructor is given.
  class IntegerGTZero < API_VALIDATOR
    def initialize(attrs, options, required, scope, *opts)
      super
      @bound = options.is_a?(Hash) ? options[:value] : 0
    end

    def validate_param!(name, params)
      return if params[name].to_i > @bound

      raise API_EXCEPTIONS::Validation.new(params: [@scope.full_name(name)],
                                           message: message("must exceed #{@bound} (#{@attrs.inspect})"))
    end
  end

  # Its own methods and variables have names that a framework could use.
  class Loud < API_VALIDATOR
    def initialize(*)
      super
      @names = nil
    end

    def validate_param!(name, params)
      return if check(params[name])

      raise API_EXCEPTIONS::Validation.new(params: [@scope.full_name(name)], message: fault)
    end

    private

    def check(text) = !empty? && text == text.upcase
    def fault = "is no #{names.join}"
    def names = %w[shout]
    def empty? = false
  end

  # Judges the whole request.
  class AdminOnlyValidator < API_VALIDATOR
    def validate(request)
      return unless @option && request.params.key?(@attrs.first.to_s)
      return if request.headers["X-Role"] == "admin" && request.env["REQUEST_METHOD"]

      raise API_EXCEPTIONS::Validation.new(params: ["#{@attrs.first} of yours"], message: "is for admins", status: 403)
    end
  end

  # Judges all parameters, and says several things.
  class NoTwins < API_VALIDATOR
    def validate!(params)
      twins = params.group_by(&:last).values.select { |pairs| pairs.size > 1 }
      errors = twins.map { |pairs| API_EXCEPTIONS::Validation.new(params: pairs.map(&:first), message: "are twins") }
      raise API_EXCEPTIONS::ValidationArrayErrors.new(errors) if errors.any?
    end
  end

  # A module as apps share it.
  module Paging
    extend API_SHARED_PARAMETERS

    params :paging do
      optional :page, type: Integer, default: 1
      optional :all, type: Boolean, default: false
    end
  end

  # An error that knows its answer.
  class Teapot < API_EXCEPTIONS::Base
    def initialize(who) = super(status: 418, message: "#{who} is a teapot", headers: { "X-Tea" => "green" })
  end

  # An error without a status.
  class Unspoken < API_EXCEPTIONS::Base
    def initialize = super(message: "unspoken")
  end

  # What is written beside the plain vocabulary.
  class Idioms < API_BASE
    format :json
    helpers Paging

    params { use :paging }
    get(:paged) { params }
    params { requires :v, first_time: true }
    get(:first_time) { params }
    params { requires :v, loud: true }
    get(:loud) { params }
    params { requires :rows, type: Array do requires :n, first_time: true end }
    post(:first_times) { params }
    params { requires :n, integer_gt_zero: true }
    get(:positive) { params }
    params { requires :n, type: Integer, integer_gt_zero: { value: 9, message: "is small" } }
    get(:large) { params }
    params { requires :rows, type: Array do optional :n, type: Integer, integer_gt_zero: true end }
    post(:positives) { params }
    params { optional :secret, admin_only: true }
    get(:secret) { params }
    params { optional :a, :b, :c, no_twins: true }
    get(:twins) { params }
    get(:teapot) { raise Teapot, "it" }
    get(:unspoken) { raise Unspoken }
    params { requires :n, coerce: Integer }
    get(:coerce) { params }
    params { optional :v, values: { value: %w[a b], except: %w[b], message: "is off", except_message: "is out" } }
    get(:except_message) { params }
    params { optional :v, values: { value: %w[a b], except: %w[b], message: "is off" } }
    get(:values_message) { params }
    desc "Searches", params: { "q" => { desc: "What for", type: "String" }, "n" => { desc: "How many" } }
    params { optional :n, type: Integer }
    get(:described) { route.params.sort.to_h }
    desc("With settings") { @settings[:mine] = "yes" }
    get(:settings) { route.options[:mine] }
    params { requires(:item, type: Hash) { requires :name; requires :n, type: Integer } }
    post(:group) { params }
    params { requires(:items, type: Array) { requires :name } }
    post(:groups) { params }
    get(:twice) { "first" }
    get(:twice) { "second" }
  end

  # Formats that a handler sets.
  class SetFormats < API_BASE
    format :json
    content_type :json, "application/json"
    content_type :txt, "text/plain"
    content_type :binary, "application/octet-stream"
    get(:binary) { env["api.format"] = :binary; "\x00bytes" }
    get(:pdf) { env["api.format"] = :binary; content_type "application/pdf"; "%PDF" }
    get(:text) { env["api.format"] = :txt; { a: 1 }.size }
    get(:read) { env["api.format"].inspect }
    after_validation { env["api.format"] = :txt if params[:plain] }
    get(:hooked) { "hooked" }
    get(:failed) { env["api.format"] = :binary; error!("failed", 400) }
    get(:file) { file File.expand_path("lines.txt", __dir__) }
  end

  # A format that the API does not name.
  class UnnamedFormat < API_BASE
    format :json
    get(:pdf) { env["api.format"] = :binary; content_type "application/pdf"; "%PDF" }
    get(:bare) { env["api.format"] = :binary; "bytes" }
    get(:failed) { env["api.format"] = :binary; error!("failed", 400) }
  end

  # Paths that take what is below them, and a version in a Hash.
  class Unanchored < API_BASE
    version "v1", { using: :path }
    format :json
    get("files", anchor: false) { params }
    get("users/:id", anchor: false) { params }
    get("rest/*path", anchor: false) { params }
    namespace(:all) { get("/", anchor: false) { params } }
    get("files/exact") { "exact" }
  end

  # Hooks that read the parameters of requests that no endpoint takes.
  class ReadBefore < API_BASE
    before { header "X-Seen", "t=#{params[:t]} #{params.keys.sort.join(",")}." }
    get(:x) { "x" }
    get("y/:id") { "y" }
    post("z/:id/*rest") { "z" }
  end
end
