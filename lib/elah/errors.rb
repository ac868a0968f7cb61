# frozen_string_literal: true

# The tree of errors that Elah raises. The native side looks them up here by name.
module Elah
  # The root: `rescue Elah::Error` catches all that Elah raises by itself.
  class Error < StandardError; end

  # A fault of Elah, not of its user: the message asks for a report.
  class InternalError < Error; end

  # The client closed the connection before its answer was complete.
  class ClientGone < Error; end

  # The request took longer than its deadline; the client has been answered 504.
  class DeadlineExceeded < Error; end

  # A request was used after its answer was complete, or on another thread than its worker's.
  class RequestFinished < Error; end

  class Router
    # A path leads to a route, but is not UTF-8 or has a broken percent escape: the client's fault, 400.
    class BadPath < Error; end
  end
end
