# frozen_string_literal: true

require "test_helper"
require "support/supervised_case"

# Calls between workers while a restart replaces them.
class EntityRestartTest < Minitest::Test
  include SupervisedCase

  # The call leaves its worker when the handler has computed.
  APP = <<~'RUBY'
    class Tally < Elah::Entity
      def pid = Process.pid
    end
    TALLIES = Tally.in(Elah::Store.open(Elah.config.data))
    class Api < Elah::API
      format :txt
      helpers do
        def compute
          warn "computing #{params[:key]}"
          nil until File.exist?("replaced")
          ends_at = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 0.05
          nil until Process.clock_gettime(Process::CLOCK_MONOTONIC) > ends_at
        end
      end
      get("/pids/:key") { "#{Process.pid} #{TALLIES[params[:key]].pid}" }
      get("/late/:key") do
        call = Elah.async { TALLIES[params[:key]].pid }
        Elah.async { compute }
        call.value.to_s
      end
    end
    run Api
  RUBY

  # What arrives meanwhile is in the worker's socket, and nobody reads it.
  BUSY_AT_ITS_END = <<~'RUBY'
    before_worker_shutdown do
      ends_at = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 0.3
      nil until Process.clock_gettime(Process::CLOCK_MONOTONIC) > ends_at
    end
  RUBY

  # The worker ended as soon as it had no call: one that another had routed to it before got PeerUnavailable. A busy
  # machine may spoil some rounds.
  def test_a_call_that_is_on_its_way_to_a_worker_that_is_replaced_is_made
    supervised_with_config(BUSY_AT_ITS_END, APP) do |server|
      answers = []
      answers << answer_of_late_call(server) until answers.last == 200 || answers.size == 5
      assert_equal 200, answers.last, answers.inspect
    end
  end

  LEAVING = <<~'RUBY'
    class Presence < Elah::Entity
      def join(pid) = state.put(pid, "")
      def leave(pid) = state.delete(pid)
    end
    PRESENCE = Presence.in(Elah::Store.open(Elah.config.data))
    Elah::Config.at(:before_worker_boot) do
      Elah.async do
        PRESENCE["all"].join(Process.pid.to_s)
        sleep
      ensure
        PRESENCE["all"].leave(Process.pid.to_s)
        warn "#{Process.pid} has left"
      end
    end
    run ->(_) { [200, {}, ["hello"]] }
  RUBY

  # In before_worker_shutdown, the call of all workers but one waited for an owner, and failed.
  def test_a_background_fiber_calls_an_entity_when_its_worker_ends
    supervised(LEAVING) do |server|
      pids = worker_pids(server)
      server.signal(:HUP)
      pids.each { |pid| server.wait_for(/^#{pid} has left$/) }
      wait_for_workers(server, 2, besides: pids)
      pids = worker_pids(server)
      server.stop
      pids.each { |pid| assert_match(/^#{pid} has left$/, server.log) }
      refute_match(/Moving/, server.log)
    end
  end

  private

  # Asks the worker that is replaced second for an entity of the first.
  #
  # @return [Integer] the status
  def answer_of_late_call(server)
    first, second = worker_pids(server)
    FileUtils.rm_f(replaced = File.join(server.folder, "replaced"))
    client, key = client_of(server, first, second)
    client.write("GET /late/#{key} HTTP/1.1\r\nHost: a\r\n\r\n")
    server.wait_for(/^computing #{key}$/)
    server.signal(:HUP)
    server.wait_for(/process #{first}\) is draining/)
    FileUtils.touch(replaced)
    status = client.read_answer.status
    wait_for_workers(server, 2, besides: [first, second])
    status
  ensure
    client&.close
  end

  # @return [Array(HttpClient, String)] a client of a worker, and the key of an entity of another one
  def client_of(server, owner, caller)
    @key = @key.to_i
    loop do
      client = server.connect
      loop do
        pids = client.get("/pids/#{@key += 1}").body.split.map(&:to_i)
        break if pids.first != caller
        return client, @key.to_s if pids.last == owner
      end
      client.close
    end
  end
end
