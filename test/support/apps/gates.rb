# frozen_string_literal: true

# An API with endpoints that only a few requests may run at once, for test/integration/gates_test.rb.
class Gated < Elah::API
  format :json

  @running = 0
  @peak = 0
  class << self
    attr_accessor :running, :peak

    def slowly(seconds)
      self.running += 1
      self.peak = [peak, running].max
      sleep seconds
      "done"
    ensure
      self.running -= 1
    end
  end

  get(:free) { "free" }
  get(:peak) { Gated.peak }

  namespace :narrow do
    behind max: 3, queue_max: 200, queue_seconds: 60
    get("slow/:ms") { Gated.slowly(params[:ms].to_i / 1000.0) }
    get("other/:ms") { Gated.slowly(params[:ms].to_i / 1000.0) }
    get(:failing) { raise "always" }
  end

  namespace :impatient do
    behind max: 1, queue_seconds: 0.2
    get("slow/:ms") { Gated.slowly(params[:ms].to_i / 1000.0) }
  end

  namespace :short do
    behind max: 1, queue_max: 2, queue_seconds: 60
    get("slow/:ms") { Gated.slowly(params[:ms].to_i / 1000.0) }
  end
end

run Gated
