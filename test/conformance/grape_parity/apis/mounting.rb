# frozen_string_literal: true

# Owns the APIs that try APIs in others, subclasses, and what is left to other apps.
module Parity
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
    rack = lambda do |env|
      [201, { "Content-Type" => "text/plain", "X-Rack" => "1" }, [env["PATH_INFO"], env["SCRIPT_NAME"]]]
    end
    mount rack => "/rack"
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
end
