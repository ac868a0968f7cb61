# frozen_string_literal: true

# An app for the tests of error reports: each path fails in one way. With the setting `rails` it has the error reporter
# of ActiveSupport.
if Elah.settings["rails"]
  require "active_support"
  require "active_support/error_reporter"

  # Writes what it is told to standard error.
  class Subscriber
    def report(error, **details) = $stderr.puts("reporter: #{error.class} #{details.sort.inspect}")
  end
  ActiveSupport.error_reporter.subscribe(Subscriber.new)
end

class Failures < Elah::API
  format :json

  WORK = Elah::Sink.new("work") { |events| events.each { |event| raise KeyError, "bad event" if event.data["bad"] } }

  namespace :orders do
    get(":id") { raise ArgumentError, "no order #{params[:id]}" }
  end
  get(:down) { raise Elah::Unavailable, "the database is away" }
  get(:refused) { error!("no", 418) }
  get(:stream) { stream { |out| out << "begun"; raise IOError, "half" } }
  get(:detached) { Elah.async(detached: true) { raise ThreadError, "in the background" }; {} }
  get(:cancelled) { Elah.async(detached: true) { Elah.async { sleep }.cancel.value }; {} }
  get(:every) { EVERY << Elah.every(0.01, detached: true) { raise FloatDomainError, "each time" }; {} }
  EVERY = []
  get(:calm) { EVERY.each(&:cancel); {} }
  get(:event) { WORK.push({ bad: true }); {} }
  get(:late) { sleep }
  get(:hello) { { hello: "world" } }
end

run Failures
