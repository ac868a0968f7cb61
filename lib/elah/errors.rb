# frozen_string_literal: true

# Owns the root of Elah's errors and those that no single part raises. Every error of Elah descends from Elah::Error,
# so that `rescue Elah::Error` catches what Elah says and nothing that Ruby or an app says.
module Elah
  # The root of all errors of Elah. Its message is a sentence.
  class Error < StandardError; end

  # What an error says of itself to a client when nobody has rescued it: an error with a status and a stable code that the client may act
  # upon. Any other is a 500 of which the client is told its number in the log alone.
  module Problem
    # @!method status
    #   @return [Integer] the HTTP status that fits; with 503 goes Retry-After
    # @!method code
    #   @return [String] the stable code of the problem

    # @return [String] what the client is told
    def detail = message
  end

  # An option, a setting or the config file has a name or a value that Elah does not know. Raised at boot only.
  class OptionError < Error; end

  # The native extension was built without the client that is asked for. Raised at boot, when the client is made.
  class ClientMissing < OptionError
    # @param name [String] the class of the client
    def initialize(name)
      super("#{name} is not part of this build of Elah: `bin/setup --clients` builds the native clients.")
    end
  end

  # The native extension is not built for this Ruby. Raised by `require "elah"`.
  class ExtensionMissing < Error; end

  # The app file is missing, or is not an app. Raised at boot only.
  class AppFileError < Error; end

  # A fault of Elah itself, not of its user. Its message asks for a report.
  class InternalError < Error; end

  # The client closed the connection before its answer was complete.
  class ClientGone < Error; end

  # The request took longer than its deadline; the client has been answered 504.
  class DeadlineExceeded < Error
    include Problem

    # @return [Integer] the HTTP status that fits
    def status = 504

    # @return [String] the stable code of the problem
    def code = "deadline_exceeded"
  end

  # What started this fiber has ended, or does not want it any more.
  class Cancelled < Error; end

  # Only a fiber of the worker's loop can do this; the loop itself, or another thread, cannot.
  class OutsideLoop < Error; end

  # A request was used after its answer was complete, or on another thread than its worker's.
  class RequestFinished < Error; end

  # The request breaks a rule of HTTP or a bound of the server; noticed after its handler had begun to read it.
  class BadRequest < Error
    include Problem

    # @return [Integer] the HTTP status that fits
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

  # A server that a handler needs cannot be reached, refuses, or was lost in mid-answer. Unrescued, it is the request's 503.
  class Unavailable < Error
    include Problem

    # @return [Integer] the HTTP status that fits
    def status = 503

    # @return [String] the stable code of the problem
    def code = "store_unavailable"

    # @return [String] nothing of the message, which may name addresses: the log has it
    def detail = "A server behind this one does not answer: try again later."
  end

  # Another worker of this server cannot be reached, or was lost before it answered.
  class PeerUnavailable < Unavailable
    # @param message [String]
    # @param may_have_run [Boolean]
    def initialize(message = nil, may_have_run: false)
      super(message)
      @may_have_run = may_have_run
    end

    # @return [Boolean] false when the call had not left: it has certainly not been run, and may be made again
    def may_have_run? = @may_have_run

    # @return [String] the stable code of the problem
    def code = "peer_unavailable"
  end

  # Another worker of this server was not asked, because it does not answer in time at the moment.
  class PeerLimited < Unavailable
    # @return [String] the stable code of the problem
    def code = "peer_limited"
  end

  # Another worker raised an exception of a class that is not known in this one, or that cannot be written.
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

  # No connection of a pool became free within its bound of time.
  class PoolExhausted < Unavailable
    # @return [String] the stable code of the problem
    def code = "pool_exhausted"
  end

  # A server took longer for an answer than the client's bound; whether it has done what it was told is not known.
  class QueryTimeout < Unavailable
    # @return [Integer] the HTTP status that fits
    def status = 504

    # @return [String] the stable code of the problem
    def code = "query_timeout"
  end

  # A bound on what may wait or run at once is reached. Unrescued, it is the request's 503.
  class Overloaded < Error
    include Problem

    # @return [Integer] the HTTP status that fits
    def status = 503

    # @return [String] the stable code of the problem
    def code = "overloaded"
  end

  # A response header has a name or a value that HTTP does not allow, a line break for example.
  class InvalidHeader < Error; end

  # A response status that is not one of 200 to 599.
  class InvalidStatus < Error; end

  # A Rack app returned what is no Rack response, or one of a kind that Elah does not serve.
  class InvalidRackResponse < Error; end

  # An address cannot be listened on.
  class ListenError < Error; end

  # No worker comes up. Raised at boot only.
  class BootError < Error; end

  # The folder for what runs, or its board, cannot be made or read. Raised at boot, and by `elah status`.
  class RunDirError < Error; end

  module Form
    # A query string or a form cannot be read: a broken escape, names that conflict, too many or too deep parameters.
    class ParseError < Error; end
  end

  module JSON
    # A value has no form in JSON: NaN, a string that is not UTF-8, too deep a nesting.
    class GenerateError < Error; end

    # A text is not JSON. The message says where.
    class ParseError < Error; end
  end

  module Multipart
    # A multipart body cannot be read: no boundary, a part without a name, an end that is missing, too many parts.
    class ParseError < Error; end
  end

  class Router
    # A path leads to a route, but is not UTF-8 or has a broken percent escape: the client's fault, 400.
    class BadPath < Error; end
  end
end
