# frozen_string_literal: true

# Owns the APIs that try where a version is asked for.
module Parity
  # Versions in the path.
  class PathVersions < API_BASE
    format :json
    prefix :api
    version "v1", "v2", using: :path do
      get(:shared) { { version: version } }
      get("/") { { root: version } }
      get("links/:version") { params }
    end
    version "v2" do
      get(:new) { { version: version } }
    end
    get(:unversioned) { { version: version } }
  end

  # Versions in the Accept header.
  class HeaderVersions < API_BASE
    format :json
    version "v1", "v2", using: :header, vendor: "acme"
    get(:x) { { old: version } }
    version "v3", using: :header, vendor: "acme" do
      get(:x) { { new: version } }
      get(:y) { { only: version } }
    end
  end

  # Strictly.
  class StrictHeaderVersions < API_BASE
    format :json
    version "v1", using: :header, vendor: "acme", strict: true, cascade: false
    get(:x) { { v: version } }
  end

  # Versions in a parameter.
  class ParamVersions < API_BASE
    format :json
    version "v1", using: :param, parameter: "ver"
    get(:x) { { v: version } }
  end

  # Versions in Accept-Version.
  class AcceptVersions < API_BASE
    format :json
    version("v1", using: :accept_version_header) { get(:x) { { one: version } } }
    version("v2", using: :accept_version_header) { get(:x) { { two: version } } }
    version("v3", using: :accept_version_header, strict: true, cascade: false) { get(:strict) { { three: version } } }
  end

  # Versions whose patterns for a path differ.
  class OtherPatterns < API_BASE
    format :json
    version "v1", using: :accept_version_header do
      get(:formats) { { one: version } }
      get("digits/:id", requirements: { id: /\d+/ }) { { one: params[:id] } }
      get("any/:id") { { one: params[:id] } }
      get("text/:id") { { one: params[:id] } }
      get("optional(/:id)") { { one: params[:id] } }
      get("names/:id") { { one: params } }
    end
    version "v2", using: :accept_version_header do
      content_type :json, "application/json"
      content_type :txt, "text/plain"
      get(:formats) { { two: version } }
      get("digits/:number") { { two: params[:number] } }
      get("any/:id", requirements: { id: /\d+/ }) { { two: params[:id] } }
      get("text/new") { { two: version } }
      get("optional/:id") { { two: params[:id] } }
      get("names/:number") { { two: params[:number] } }
    end
  end
end
