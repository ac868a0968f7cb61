# frozen_string_literal: true

# An app for the tests of several workers: it says which one answers, and misbehaves on request.
class WorkersApp < Elah::API
  format :txt

  class << self
    attr_accessor :ballast
  end

  get("/") { "hello" }
  get(:pid) { Process.pid.to_s }
  get(:placement) do
    placement = Elah::Placement.current
    "#{placement.slot} #{placement.slots} #{placement.generation}"
  end
  get("sleep/:ms") do
    sleep(params[:ms].to_i / 1000.0)
    "slept"
  end
  # A loop that turns and begins nothing.
  module Wedge
    class << self
      attr_accessor :closed
    end

    def request_ready? = Wedge.closed ? false : super
  end
  Elah::EventLoop.prepend(Wedge)
  get(:wedge) { (Wedge.closed = true) && "wedged" }

  get(:hold_the_loop) { loop { nil } } # the line that hangs
  get("grow/:bytes") do
    WorkersApp.ballast = "x" * params[:bytes].to_i
    "grown"
  end
  get("exit/:status") { exit! params[:status].to_i }
  get("publish/:name/:value") do
    Elah::Placement.current.publish(params[:name], params[:value].to_i)
    "shown"
  end
  mount Elah::Metrics => "/metrics"
end

run WorkersApp
