# frozen_string_literal: true

require_relative "support"

module Links
  autoload :Import, File.expand_path("../import", __dir__)
  autoload :ImportReport, File.expand_path("../import_report", __dir__)
  autoload :LineReader, File.expand_path("../line_reader", __dir__)

  module Endpoints
    # Owns the way of many links into the service and out of it, as lines of JSON.
    class Transfers < Elah::API
      EXPORT_BATCH = 500
      NDJSON = "application/x-ndjson"

      format :json
      error_format :problem
      helpers Support
      Support.rescue_errors(self)

      namespace :links do
        desc "Imports links, a JSON object per line"
        post :import, stream_body: true do
          authorize!
          report = ImportReport.new
          Import.new(service, own: own_places, presenter: presenter, report: report,
                              reuse: request.query_string == "find_if_exists=true").run(LineReader.new(request))
          status 200
          content_type NDJSON
          stream { |out| report.copy_to(out) }
        end

        desc "Exports all links, a JSON object per line, in the form that the import takes"
        get :export do
          authorize!
          content_type NDJSON
          stream do |out|
            last = nil
            until (links = store.links_after(last, EXPORT_BATCH)).empty?
              out << links.map { |link| "#{Elah::JSON.generate(shown(link))}\n" }.join
              last = links.last.code
            end
          end
        end
      end
    end
  end
end
