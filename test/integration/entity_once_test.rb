# frozen_string_literal: true

require "test_helper"
require "support/supervised_case"

# Payments with an idempotency key at a server with two workers: clients repeat each request until it has a response,
# while workers, and then the whole server, are killed.
class EntityOnceServerTest < Minitest::Test
  include SupervisedCase

  APP = <<~RUBY
    class Account < Elah::Entity
      def restore = @balance = state.get("balance").to_i
      attr_reader :balance
      def pid = Process.pid

      def deposit(amount)
        state.put("balance", (@balance += amount).to_s)
        { balance: @balance }
      end
    end

    class Bank < Elah::API
      ACCOUNTS = Account.in(Elah::Store.open(Elah.config.data))
      format :json
      error_format :problem
      get(":key") { { balance: ACCOUNTS[params[:key]].balance, owner: ACCOUNTS[params[:key]].pid } }
      post(":key/:amount") { ACCOUNTS[params[:key]].once(headers["Idempotency-Key"]).deposit(params[:amount].to_i) }
    end
    run Bank
  RUBY

  ACCOUNTS = %w[ann bob cleo dan].freeze
  ROUNDS = 4

  def setup = @data = Dir.mktmpdir("elah-once")
  def teardown = FileUtils.remove_entry(@data)

  def serve(&block) = supervised(APP, data: @data, &block)

  def balance(server, account) = server.get("/#{account}").json["balance"]

  def pay(server, account, key, amount: 1)
    server.request("POST", "/#{account}/#{amount}", headers: { "Idempotency-Key" => key }.compact)
  end

  # The response of a payment, which is sent until there is one.
  def pay_surely(server, account, key)
    answer = nil
    wait_until("#{account} pays #{key}:\n#{server.log}") do
      answer = pay(server, account, key)
      answer.status == 201
    rescue SystemCallError, HttpClient::Closed, HttpClient::Silence
      false
    end
    answer.json
  end

  # The responses to the payments of two clients of each account, which send the same keys until the block is done.
  def payments(server)
    ended = false
    threads = ACCOUNTS.product([0, 1]).map do |account, _|
      Thread.new { [account, pay_until(server, account) { ended }] }
    end
    yield
    ended = true
    threads.map(&:value).group_by(&:first).transform_values { |clients| clients.map(&:last) }
  ensure
    ended = true
    threads&.each(&:join)
  end

  def pay_until(server, account)
    answers = []
    answers << pay_surely(server, account, "key #{answers.size}") until yield
    answers
  end

  def test_nothing_is_paid_twice_when_workers_are_killed
    serve do |server|
      paid = payments(server) do
        ROUNDS.times do
          pids = worker_pids(server)
          before = balance(server, "ann")
          wait_until("payments are made") { balance(server, "ann") > before + 5 }
          killed = pids.sample
          Process.kill(:KILL, killed)
          wait_for_workers(server, 2, besides: [killed])
        end
      end
      paid.each { |account, clients| assert_paid(server, account, clients.sort_by(&:size)) }
    end
  end

  def assert_paid(server, account, (fewer, more))
    assert_equal more.size, balance(server, account), account
    assert_equal fewer, more.first(fewer.size), "the same responses for both clients of #{account}"
  end

  def test_a_result_is_there_after_the_whole_server_was_killed
    server = ElahServer.start(APP, workers: 2, data: @data)
    first = ACCOUNTS.map { |account| pay_surely(server, account, "key") }
    server.kill
    serve do |successor|
      assert_equal(first, ACCOUNTS.map { |account| pay_surely(successor, account, "key") })
      ACCOUNTS.each { |account| assert_equal 1, balance(successor, account) }
    end
  end

  def test_a_key_that_is_missing_or_reused_has_a_stable_code
    serve do |server|
      owners = ACCOUNTS.map { |account| server.get("/#{account}").json["owner"] }
      ACCOUNTS.each do |account|
        assert_equal [400, "idempotency_key_invalid"], problem(pay(server, account, nil))
        assert_equal 201, pay(server, account, "key").status
        assert_equal [422, "idempotency_key_reused"], problem(pay(server, account, "key", amount: 2))
      end
      assert_operator owners.uniq.size, :<=, 2
    end
  end

  private

  def problem(answer) = [answer.status, answer.json["code"]]
end
