# frozen_string_literal: true

module Links
  # Draws QR codes with the gem rqrcode. The gem is loaded for the first code, so that a service without QR codes does not need
  # its memory. A thread loads it, because that takes some tenths of a second.
  class QrCode
    # The gem is not installed.
    class Unavailable < StandardError
      def initialize = super("QR codes need the gem rqrcode: apt install ruby-rqrcode, or gem install rqrcode.")
    end

    MODULE_PIXELS = 8
    QUIET_MODULES = 4

    # @param text [String]
    # @raise [Unavailable]
    def initialize(text)
      begin
        Elah.offload { require "rqrcode" } unless defined?(::RQRCode::QRCode)
      rescue LoadError
        raise Unavailable
      end
      @code = RQRCode::QRCode.new(text, level: :m)
    end

    # @return [String]
    def svg
      @code.as_svg(module_size: MODULE_PIXELS, offset: MODULE_PIXELS * QUIET_MODULES, fill: "ffffff", viewbox: true,
                   use_path: true, standalone: true)
    end

    # @param size [Integer] pixels of each side
    # @return [String] binary
    def png(size) = @code.as_png(size: size, border_modules: QUIET_MODULES).to_blob
  end
end
