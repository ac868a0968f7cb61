# frozen_string_literal: true

# Owns the APIs that try the order of hooks, and how scopes bound what they declare.
module Parity
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

  # What stands below a namespace holds for it: an app whose `authenticate!` did was open to all.
  class Below < API_BASE
    namespace(:a) do
      namespace(:b) { get { { helped: respond_to?(:helping) } } }
      before { header "X-A", "1" }
      get(:c) { { c: 1 } }
      after { header "X-Z", "1" }
    end
    scope(:part) { get(:part) { { part: 1 } } }
    params { optional :number, type: Integer }
    namespace(:typed) { get { params[:number].class.name } }
    route_param(:id) { get { { id: params[:id] } } }
    before { header "X-Below", params[:number].class.name }
    format :json
    prefix :api
    helpers { def helping = true }
  end

  # The same for exceptions.
  class RescuedBelow < API_BASE
    namespace(:a) do
      get(:raises) { raise IOError, "x" }
      rescue_from(EOFError) { error!("inner", 491) }
      get(:ends) { raise EOFError, "x" }
    end
    rescue_from(IOError) { |error| error!("outer #{error.class.name}", 490) }
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
