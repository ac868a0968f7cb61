# frozen_string_literal: true

# What the gem sinatra-synchrony did with rack-fiber_pool, in the few lines that are needed of it.
# Runs each request in a fiber and answers Thin when it is through.
class FiberPerRequest
  FIBERS_MAX = 20_000

  def initialize(app)
    @app = app
    @idle = []
    @count = 0
  end

  def call(env)
    fiber = @idle.pop || new_fiber
    fiber.resume(env)
    throw :async
  end

  private

  def new_fiber
    raise "more than #{FIBERS_MAX} fibers" if (@count += 1) > FIBERS_MAX

    Fiber.new do |env|
      loop do
        answer = @app.call(env)
        env["async.callback"].call(answer)
        @idle << Fiber.current
        env = Fiber.yield
      end
    end
  end
end
