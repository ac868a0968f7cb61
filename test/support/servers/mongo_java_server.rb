# frozen_string_literal: true

module Servers
  # Owns mongo-java-server, which speaks MongoDB's protocol and is not MongoDB. `bin/setup --tests` fetches it.
  #
  # It keeps the data in memory, so that a stop loses them; with `durable: true` they are in a file of its H2 back end.
  # There are no users and passwords.
  #
  # @option options [Integer] :memory_megabytes of its heap
  class MongoJavaServer < Server
    VERSION = "1.47.0"
    STOP_SIGNAL = :TERM
    READY = /^ready$/.freeze
    CLASSES = File.join(CACHE, "mongo-java-server")
    DATABASE = "test"

    def initialize(memory_megabytes: 512, **options)
      @memory_megabytes = memory_megabytes
      super(**options)
    end

    # @return [String] mongodb://127.0.0.1:PORT/test
    def url = "mongodb://#{address}/#{DATABASE}#{'?tls=true' if tls?}"

    private

    def prepare
      File.exist?("#{CLASSES}/MongoJavaServer.class") or
        raise Failure, "mongo-java-server is missing: bin/setup --tests fetches it."
    end

    # Little memory and no second compiler: it starts faster so.
    def command
      ["java", "-Xmx#{@memory_megabytes}m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
       "-cp", "#{CLASSES}:#{CLASSES}/*", "MongoJavaServer", port.to_s,
       @durable ? data_path : "", tls? ? @certificate.store_path : ""]
    end
  end
end
