;;; session.el --- A session that a person could have, without a screen  -*- lexical-binding: t; -*-

;;; Commentary:

;; emacs -q --batch -L editors/emacs -l session.el, with the program in ANKUS and the definition in ANKUS_FILE.  Says `ok WHAT'
;; for each part that came out, and `not ok WHAT' with the reason.

;;; Code:

(require 'package)
(package-activate-all)
(require 'ankus)
(require 'flymake)
(require 'nxml-mode)

(defvar session-failed nil)

(defun session-say (good what &optional detail)
  "Report whether WHAT came out (GOOD), else DETAIL."
  (unless good (setq session-failed t))
  (princ (if good (format "ok %s\n" what) (format "not ok %s: %S\n" what detail))))

(defun session-wait (until)
  "Wait for UNTIL to return something, for 20 seconds."
  (let ((end (+ (float-time) 20)) found)
    (while (not (or (setq found (funcall until)) (> (float-time) end)))
      (accept-process-output nil 0.05))
    found))

(defun session-to (text)
  "Put point behind TEXT."
  (goto-char (point-min))
  (search-forward text))

(defun session-request (method &optional more)
  "Ask the server for METHOD at point, with MORE parameters."
  (eglot--signal-textDocument/didChange)
  (jsonrpc-request (eglot-current-server) method (append (eglot--TextDocumentPositionParams) more)))

(defun session-messages ()
  "What Flymake shows, as one text."
  (mapconcat #'flymake-diagnostic-text (flymake-diagnostics) "\n"))

(setq ankus-program (getenv "ANKUS")
      eglot-sync-connect 20
      eglot-connect-timeout 20
      eglot-send-changes-idle-time 0
      flymake-no-changes-timeout 0
      make-backup-files nil
      create-lockfiles nil)

(condition-case problem
    (progn
      (find-file (getenv "ANKUS_FILE"))
      (nxml-mode)
      (session-say (ankus-definition-p) "knows a definition")
      (apply #'eglot (eglot--guess-contact))
      (session-say (eglot-current-server) "starts")
      (session-to "<start to=\"clean")
      (delete-char -1)
      (insert "m")
      (eglot--signal-textDocument/didChange)
      (session-say (session-wait (lambda () (string-match-p "cleam" (session-messages)))) "diagnostics" (session-messages))
      (delete-char -5)
      (eglot--signal-textDocument/didChange)
      (let ((labels (format "%S" (session-request :textDocument/completion))))
        (session-say (and (string-match-p "\"clean\"" labels) (string-match-p "\"report\"" labels)) "completes a node" labels))
      (insert "clean")
      (eglot--signal-textDocument/didChange)
      (let ((xrefs (xref-backend-definitions 'eglot (xref-backend-identifier-at-point 'eglot))))
        (session-say (and xrefs (string-match-p "clean" (format "%S" xrefs))) "goes to a definition" xrefs))
      (eglot-rename "tidy")
      (session-say (save-excursion (goto-char (point-min)) (search-forward "<action name=\"tidy\">" nil t)) "renames")
      (session-say (string-match-p "data-node=\\\\\"tidy\\\\\"" (format "%S" (session-request :ankus/graph))) "draws")
      (set-buffer-modified-p nil))
  (error (session-say nil "session" problem)))

(ignore-errors (eglot-shutdown (eglot-current-server)))
(kill-emacs (if session-failed 1 0))
;;; session.el ends here
