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
