# frozen_string_literal: true

# Accounts that all workers of a server share: what the tests of entities under a supervisor call.
class Account < Elah::Entity
  class Poor < Elah::Entity::Refusal
    def status = 409
    def code = "poor"
  end

  index :history

  attr_reader :balance

  def restore = @balance = state.get("balance").to_i

  def deposit(amount)
    @balance += amount
    state.put("balance", @balance.to_s)
    index(:history).put("#{key} #{@balance}", Process.pid.to_s)
    @balance
  end

  def withdraw(amount)
    raise Poor, "The balance is #{@balance}." if amount > @balance

    deposit(-amount)
  end

  def pid = Process.pid

  def echo(text) = text

  def fail = raise(TypeError, "in the owner")

  def keywords(first, more: nil) = [first, more]

  def ask(reference, name) = ACCOUNTS[reference].public_send(name)

  def hang = Queue.new.pop

  # Reads from a pipe that another fiber closes.
  def read_closed
    reader, @writer = IO.pipe
    Elah.async do
      Fiber.scheduler.yield
      reader.close
    end
    reader.read(1)
  end

  # Waits for another that waits for this one.
  def ask_back(other) = ACCOUNTS[other].ask(key, :balance)

  # Passes the call on to these, one after the other. The call to the last one is made by a fiber of its own.
  def pass_on(way, key, *others)
    return ACCOUNTS[key].pass_on(way, *others) if others.any?

    case way
    when "async" then Elah.async { ACCOUNTS[key].balance }.value
    when "gather" then Elah.gather { |gather| gather.call(key, ACCOUNTS[key].deferred.balance) }.values
    when "many" then ACCOUNTS.call_many([[key, :balance]]).each { |reply| raise reply if reply.is_a?(Exception) }
    end
  end
end

ACCOUNTS = Account.in(Elah::Store.open(Elah.config.data))

class AccountsAPI < Elah::API
  format :json
  error_format :problem
  rescue_from(Account::Poor) { |error| error!(error.message, 409) }

  helpers do
    def description(error) = { error: error.class.name, message: error.message, backtrace: error.backtrace&.first(40) }
  end

  get("pid") { { pid: Process.pid } }
  get("balance/:key") do
    { balance: ACCOUNTS[params[:key]].balance, owner: ACCOUNTS[params[:key]].pid, here: Process.pid }
  end
  get("deposit/:key/:amount") { { balance: ACCOUNTS[params[:key]].deposit(params[:amount].to_i) } }
  get("withdraw/:key/:amount") { { balance: ACCOUNTS[params[:key]].withdraw(params[:amount].to_i) } }
  get("keywords/:key") { { answer: ACCOUNTS[params[:key]].keywords(1, more: 2) } }

  get("fail/:key") do
    ACCOUNTS[params[:key]].fail
  rescue TypeError => e
    description(e)
  end

  get("circle/:key/:other") do
    { answer: ACCOUNTS[params[:key]].ask_back(params[:other]) }
  rescue Elah::Error => e
    description(e)
  end

  get("circle_by/:way/:keys") do
    first, *others = params[:keys].split(",")
    { answer: ACCOUNTS[first].pass_on(params[:way], *others, first) }
  rescue Elah::Error => e
    description(e)
  end

  get("many/:amount") do
    answers = ACCOUNTS.call_many((1..40).map { |key| [key.to_s, :deposit, params[:amount].to_i] })
    { answers: answers.map { |answer| answer.is_a?(Exception) ? answer.class.name : answer } }
  end

  get("closed/:key") do
    answers = ACCOUNTS.call_many([:balance, :read_closed, :balance].map { |name| [params[:key], name] })
    { answers: answers.map { |answer| answer.is_a?(Exception) ? answer.class.name : answer } }
  end

  # Calls an entity when it has been cancelled at its deadline.
  get("late/:way/:key") do
    Queue.new.pop
  ensure
    hang = ACCOUNTS.deferred(params[:key]).hang
    params[:way] == "many" ? ACCOUNTS.call_many([[params[:key], :hang]]) : Elah.gather { |gather| gather.call(1, hang) }
  end

  # What 40 long results, of arguments as long, are together.
  get("long/:bytes") do
    text = "x" * params[:bytes].to_i
    many = ACCOUNTS.call_many((1..40).map { |key| [key.to_s, :echo, text] })
    gathered = Elah.gather { |gather| (1..40).each { |key| gather.call(key, ACCOUNTS[key].deferred.echo(text)) } }
    answers = [*many, *gathered.map { |result| result.error || result.value }]
    { answers: answers.map { |answer| answer.is_a?(Exception) ? answer.class.name : answer.size } }
  end

  get("gather/:ms") do
    started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    results = Elah.gather(deadline: params[:ms].to_i / 1000.0) do |gather|
      (1..40).each { |key| gather.call(key, ACCOUNTS[key].deferred.balance, fallback: "none") }
    end
    { answers: results.values, outcomes: results.map(&:outcome).tally,
      seconds: Process.clock_gettime(Process::CLOCK_MONOTONIC) - started }
  end

  get("wrong/:keys") do
    wrong = params[:keys].split(",")
    results = Elah.gather do |gather|
      ("1".."40").each { |key| gather.call(key, ACCOUNTS[key].deferred.echo(wrong.include?(key) ? -> {} : key)) }
    end
    { failed: results.reject(&:returned?).to_h { |result| [result.key, result.error.class.name] },
      answers: results.select(&:returned?).to_h { |result| [result.key, result.value] } }
  end

  get("hang/:key/beside/:others") do
    results = Elah.gather(deadline: 2) do |gather|
      gather.call(:hangs, ACCOUNTS[params[:key]].deferred.hang, fallback: nil)
      params[:others].split(",").each { |key| gather.call(key, ACCOUNTS[key].deferred.deposit(1), fallback: "none") }
    end
    { answers: results.to_h }
  end
end

run AccountsAPI
