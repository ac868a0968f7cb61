# frozen_string_literal: true

# Uploads into ActiveStorage, and a file of the app.
class FilesController < ActionController::API
  def create
    widget = Widget.create!(name: params[:name], picture: params[:picture])
    render json: { bytes: widget.picture.byte_size, url: rails_blob_path(widget.picture, only_path: true) }
  end

  def app = send_file(Rails.root.join("config.ru"))
end
