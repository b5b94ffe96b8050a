//! Options that a pattern which allows a subcommand of git covers. None of them takes a command or a strategy, which is a
//! program, reads a file by its name, adds what is ignored or writes outside of the repository and its worktree.

use super::super::reader;

/// As in `reader`.
const ROWS: &str = "\
    add stage | AinNpuv |  | all chmod dry-run ignore-errors intent-to-add interactive patch refresh renormalize \
      update verbose
    am | 3kqs |  | 3way abort continue keep-non-patch quiet quit signoff skip
    apply | 3Rv | Cp | 3way cached check index numstat recount reverse stat summary verbose whitespace
    archive | lv0123456789 |  | format list prefix verbose worktree-attributes
    bisect |  |  | first-parent no-checkout term-bad term-good term-new term-old
    branch | aclmqrtv | u | all color column contains copy format list merged move no-color no-column no-contains \
      no-merged no-track points-at quiet remotes set-upstream-to show-current sort track unset-upstream verbose
    checkout | dlmqt | b | detach guess merge no-guess no-track orphan progress quiet track
    checkout-index | anqu |  | all index quiet
    cherry-pick revert | enx | m | abort allow-empty allow-empty-message continue edit ff mainline no-commit \
      no-edit quit signoff skip
    clean | nq |  | dry-run quiet
    commit | aeinopqsv | cCmSu | all allow-empty allow-empty-message amend author branch cleanup date dry-run edit \
      fixup gpg-sign include message no-edit no-gpg-sign no-status no-verify only patch porcelain quiet \
      reedit-message reset-author reuse-message short signoff squash status trailer untracked-files verbose
    fetch | 46aknqtv | j | all append atomic deepen depth dry-run ipv4 ipv6 jobs keep no-recurse-submodules \
      no-tags progress quiet recurse-submodules set-upstream shallow-since tags unshallow verbose
    format-patch | knNps0123456789 | Uv | base cover-letter no-numbered no-thread numbered quiet reroll-count root \
      signoff start-number stat stdout subject-prefix thread zero-commit
    fsck gc pack-refs prune repack rerere | adlnqv |  | aggressive all auto connectivity-only full no-prune quiet
    ls-remote | bhqt |  | branches exit-code heads quiet refs symref tags
    merge | enqv | mSX | abort allow-unrelated-histories autostash commit continue edit ff ff-only gpg-sign log \
      message no-autostash no-commit no-edit no-ff no-log no-squash no-stat no-verify progress quiet quit signoff \
      squash stat strategy-option verbose
    mv | knv |  | dry-run verbose
    notes |  | m | message ref
    pull | 46anqrv | X | all autostash commit depth edit ff ff-only ipv4 ipv6 no-autostash no-commit no-edit no-ff \
      no-rebase no-stat no-tags progress quiet rebase signoff squash stat tags unshallow verbose
    push | 46nquv | o | all atomic branches dry-run follow-tags ipv4 ipv6 no-follow-tags no-verify porcelain \
      progress push-option quiet set-upstream tags verbose
    read-tree | imnv |  | dry-run verbose
    rebase | fikmnqrv | CSX | abort autosquash autostash committer-date-is-author-date continue edit-todo \
      fork-point gpg-sign interactive keep-base keep-empty no-autosquash no-autostash no-ff no-stat no-verify onto \
      quiet quit reapply-cherry-picks rebase-merges root show-current-patch signoff skip stat strategy-option \
      update-refs verbose
    reflog | 0123456789 | n | date max-count oneline
    remote | v |  | verbose
    reset | Npq |  | intent-to-add keep mixed no-refresh patch quiet soft
    restore | pqS | s | patch quiet source staged
    rm | nq |  | cached dry-run ignore-unmatch quiet
    sparse-checkout |  |  | cone no-cone
    stash | akpqu | m | all include-untracked index keep-index message no-keep-index patch quiet staged stat
    submodule | q | j | checkout depth init jobs merge no-fetch progress quiet rebase recursive single-branch
    switch | dmqt | c | create detach guess merge no-guess no-track orphan progress quiet track
    symbolic-ref update-ref | q | m | create-reflog no-deref quiet short
    tag | alsv | mnu | annotate column contains format list merged message no-contains no-merged points-at sign \
      sort
    update-index | q |  | add assume-unchanged chmod no-assume-unchanged no-skip-worktree refresh remove \
      skip-worktree";

/// Whether a pattern covers a subcommand that changes something, with these words behind it.
pub(super) fn is_covered(verb: &str, words: &[&str]) -> bool {
    reader::knows_options(ROWS, verb, words)
}
