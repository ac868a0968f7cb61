# frozen_string_literal: true

# Uploads into ActiveStorage.
class FilesController < ActionController::API
  def create
    widget = Widget.create!(name: params[:name], picture: params[:picture])
    render json: { bytes: widget.picture.byte_size, url: rails_blob_path(widget.picture, only_path: true) }
  end
end
