# frozen_string_literal: true

# The root of Elah's errors, and the errors that several parts raise. Every error of Elah descends from Elah::Error, so
# `rescue Elah::Error` rescues Elah's errors only, none of Ruby or an app.
module Elah
  # The root of all errors of Elah. Its message is a sentence.
  class Error < StandardError; end

  # An error with a status and a stable code for the client, if no one rescues it. For any other error the client gets a 500 with a
  # request ID, which the log has too.
  module Problem
    # @!method status
    #   @return [Integer] the HTTP status; a 503 is sent with Retry-After
    # @!method code
    #   @return [String] the stable code of the problem

    # @return [String] the text for the client
    def detail = message
  end

  # An option, a setting or the config file has a name or a value that Elah does not know. Raised at boot only.
  class OptionError < Error; end

  # The native extension was built without the requested client. Raised at boot, when the client is created.
  class ClientMissing < OptionError
    # @param name [String] the class of the client
    def initialize(name)
      super("#{name} is not part of this build of Elah: run `bin/setup --clients`, or install the gem with this client (docs/installing.md).")
    end
  end

  # The native extension is not built for this Ruby. Raised by `require "elah"`.
  class ExtensionMissing < Error; end

  # The app file is missing, or is not an app. Raised at boot only.
  class AppFileError < Error; end

  # A bug of Elah. Its message asks for a report.
  class InternalError < Error; end

  # The client disconnected before its response was complete.
  class ClientGone < Error
    # @param exception [Exception]
    # @return [Boolean] whether it is one, or what the stream of a Rack body raises in its place: the exception of Ruby's sockets
    # @api private
    def self.caused?(exception) = exception.is_a?(self) || (exception.is_a?(Errno::EPIPE) && exception.cause.is_a?(self))
  end

  # The request exceeded its deadline; the client got a 504.
  class DeadlineExceeded < Error
    include Problem

    # @return [Integer] the HTTP status
    def status = 504

    # @return [String] the stable code of the problem
    def code = "deadline_exceeded"
  end

  # The request or fiber that started this fiber has ended or cancelled it.
  class Cancelled < Error; end

  # A fiber of the loop has set another fiber scheduler.
  class SchedulerInUse < Error; end

  # The call needs a fiber of the worker's loop; the loop itself or another thread made it.
  class OutsideLoop < Error; end

  # A request was used after its response was complete, or on another thread than its worker's.
  class RequestFinished < Error; end

  # The request breaks a rule of HTTP or a limit of the server, detected after its handler began to read it.
  class BadRequest < Error
    include Problem

    # @return [Integer] the HTTP status
    attr_reader :status

    # @return [String] the stable code of the problem
    attr_reader :code

    # @param message [String]
    # @param status [Integer]
    # @param code [String]
    def initialize(message, status = 400, code = "bad_request")
      super(message)
      @status = status
      @code = code
    end
  end

  # A server that a handler needs cannot be reached, refuses, or was lost during its reply. Unrescued, the request gets a 503.
  class Unavailable < Error
    include Problem

    # @return [Integer] the HTTP status
    def status = 503

    # @return [String] the stable code of the problem
    def code = "store_unavailable"

    # @return [String] without the message, which may contain addresses; the log has it
    def detail = "A server behind this one is not available: try again later."
  end

  # Another worker of this server cannot be reached, or was lost before it replied.
  class PeerUnavailable < Unavailable
    # @param message [String]
    # @param may_have_run [Boolean]
    def initialize(message = nil, may_have_run: false)
      super(message)
      @may_have_run = may_have_run
    end

    # @return [Boolean] false when the call had not left, so it has not run and may be retried
    def may_have_run? = @may_have_run

    # @return [String] the stable code of the problem
    def code = "peer_unavailable"
  end

  # A call was not sent to another worker of this server, because that worker does not reply in time at the moment.
  class PeerLimited < Unavailable
    # @return [String] the stable code of the problem
    def code = "peer_limited"
  end

  # Another worker raised an exception whose class is unknown here, or that cannot be serialized.
  class RemoteError < Error
    # @return [String] the name of that class
    attr_reader :remote_class

    # @param message [String]
    # @param remote_class [String]
    def initialize(message, remote_class)
      super(message)
      @remote_class = remote_class
    end
  end

  # No connection of a pool became free in time.
  class PoolExhausted < Unavailable
    # @return [String] the stable code of the problem
    def code = "pool_exhausted"
  end

  # A server took longer for a reply than the client allows; the operation may have run.
  class QueryTimeout < Unavailable
    # @return [Integer] the HTTP status
    def status = 504

    # @return [String] the stable code of the problem
    def code = "query_timeout"
  end

  # A limit of waiting or running work is reached. Unrescued, the request gets a 503.
  class Overloaded < Error
    include Problem

    # @return [Integer] the HTTP status
    def status = 503

    # @return [String] the stable code of the problem
    def code = "overloaded"
  end

  # A response header has a name or a value that HTTP does not allow, a line break for example.
  class InvalidHeader < Error; end

  # A response status that is not one of 200 to 599.
  class InvalidStatus < Error; end

  # A Rack app returned an invalid Rack response, or one of a kind that Elah does not support.
  class InvalidRackResponse < Error; end

  # The server cannot listen on an address.
  class ListenError < Error; end

  # No worker boots. Raised at boot only.
  class BootError < Error; end

  # The run folder or its scoreboard cannot be created or read. Raised at boot, and by `elah status`.
  class RunDirError < Error; end

  module Form
    # Invalid query string or form: a broken escape, conflicting names, too many or too deep parameters.
    class ParseError < Error; end
  end

  module JSON
    # A value cannot be written as JSON: NaN, a String that is not UTF-8, too many levels.
    class GenerateError < Error; end

    # Invalid JSON. The message has the position.
    class ParseError < Error; end
  end

  module Multipart
    # Invalid multipart body: no boundary, a part without a name, a missing end, too many parts.
    class ParseError < Error; end
  end

  class Router
    # A path matches a route, but is not UTF-8 or has a broken percent escape: a client error, 400.
    class BadPath < Error; end
  end
end
