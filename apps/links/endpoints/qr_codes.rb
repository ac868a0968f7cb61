# frozen_string_literal: true

require_relative "../qr_code"
require_relative "support"

module Links
  module Endpoints
    # The QR codes of short URLs.
    class QrCodes < Elah::API
      format :json
      helpers Support

      helpers do
        # @param type [String] media type
        # @yieldparam qr_code [QrCode]
        # @yieldreturn [String] the image
        def send_image(code, type)
          store.redirect(code) or no_link!(code)
          image = yield QrCode.new(presenter.short_url(code))
          request.respond(200, { "content-type" => type, "cache-control" => "public, max-age=86400" }, image)
        rescue QrCode::Unavailable => e
          error!(e.message, 501, code: "qr_unavailable")
        end
      end

      namespace "links/:code" do
        desc "The short URL as a QR code in SVG"
        get("qr.svg", raw: true) { send_image(params["code"], "image/svg+xml", &:svg) }

        desc "The short URL as a QR code in PNG, of about `size` pixels"
        params { optional :size, type: Integer, default: 300, values: 64..1024 }
        get("qr.png", raw: true) { send_image(params["code"], "image/png") { |qr_code| qr_code.png(params["size"]) } }
      end
    end
  end
end
