# frozen_string_literal: true

# Owns the APIs that try what exceptions become.
module Parity
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
    get(:braceless) { error!(error: "no", detail: 1) }
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
end
