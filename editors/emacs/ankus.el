;;; ankus.el --- Language server for Apache Oozie definitions  -*- lexical-binding: t; -*-

;; Package-Requires: ((emacs "26.1") (eglot "1.8"))
;; Keywords: languages, tools

;;; Commentary:

;; Tells Eglot how to start `ankus lsp' for XML.  The server looks at the root element of a text and is silent about XML
;; that is not Oozie's.

;;; Code:

(require 'eglot)

(defgroup ankus nil
  "Apache Oozie definitions."
  :group 'languages)

(defcustom ankus-program "ankus"
  "The program `ankus', or the path of it."
  :type 'string
  :group 'ankus)

(defun ankus-command (&optional _interactive)
  "How the language server is started."
  (list ankus-program "lsp"))

(add-to-list 'eglot-server-programs '((nxml-mode conf-javaprop-mode) . ankus-command))

(defun ankus-definition-p ()
  "Whether the buffer is a workflow, a coordinator or a bundle, as far as its root element tells."
  (save-excursion
    (goto-char (point-min))
    (re-search-forward "<\\(?:[[:alnum:]_.-]+:\\)?\\(?:workflow\\|coordinator\\|bundle\\)-app[[:space:]/>]" nil t)))

;;;###autoload
(defun ankus-ensure ()
  "Start Eglot where the buffer is a definition; for `nxml-mode-hook'."
  (when (ankus-definition-p)
    (eglot-ensure)))

(defun ankus--run (verb)
  "Run `ankus VERB' on the file of this buffer, in a compilation buffer."
  (unless buffer-file-name
    (user-error "Save the definition first: it runs as it is on disk"))
  (save-buffer)
  (compile (mapconcat #'shell-quote-argument (list ankus-program verb buffer-file-name) " ")))

(defun ankus-run ()
  "Run the application of this definition."
  (interactive)
  (ankus--run "run"))

(defun ankus-test ()
  "Run the scenarios of this application."
  (interactive)
  (ankus--run "test"))

(defun ankus-graph ()
  "Show the graph of this definition."
  (interactive)
  ;; Eglot waits with changes until nothing is typed for a moment.
  (eglot--signal-textDocument/didChange)
  (let* ((server (or (eglot-current-server) (user-error "Eglot does not manage this buffer")))
         (answer (jsonrpc-request server :ankus/graph
                                  (list :textDocument (eglot--TextDocumentIdentifier)))))
    (unless answer
      (user-error "There is no graph of this text"))
    (with-current-buffer (get-buffer-create "*ankus graph*")
      (let ((inhibit-read-only t))
        (fundamental-mode)
        (erase-buffer)
        (insert (plist-get answer :svg)))
      (if (image-type-available-p 'svg) (image-mode) (xml-mode))
      (display-buffer (current-buffer)))))

(provide 'ankus)
;;; ankus.el ends here
