# frozen_string_literal: true

require_relative "support"

module Links
  autoload :Import, File.expand_path("../import", __dir__)
  autoload :ImportReport, File.expand_path("../import_report", __dir__)

  module Endpoints
    # The import and export of many links, as lines of JSON.
    class Transfers < Elah::API
      EXPORT_BATCH = 500
      NDJSON = "application/x-ndjson"

      format :json
      helpers Support
      before { authorize! }

      namespace :links do
        desc "Imports links, a JSON object per line"
        params { optional :find_if_exists, type: Boolean, default: false, desc: "take existing links that redirect in the same way" }
        post :import, stream_body: true do
          report = ImportReport.new
          import = Import.new(service, own: own_places, presenter: presenter, report: report, reuse: params["find_if_exists"])
          import.run(LineReader.new(request, Import::LINE_BYTES_MAX))
          report.complete
          status 200
          content_type NDJSON
          stream { |out| report.copy_to(out) }
        rescue Errno::ENOSPC
          report&.close
          error!("There is no room for the results. Lines before may have been imported.", 507, code: "spool_failed")
        rescue Exception # -- the client may be gone; its results would take disk space until the next garbage collection
          report&.close
          raise
        end

        desc "Exports all links, a JSON object per line, in the format of the import"
        get :export do
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
