package storetest

import (
	"time"

	"piworkflows/controller"
)

var noticeTests = []test{
	{"a notice is kept until it was told, and told once", noticeTold},
	{"a notice that fails comes again later", noticeAgain},
	{"notices are of their hook and project", noticeOfHook},
}

const hook = "pager"

func (k *kit) tell(ids ...string) {
	k.Helper()
	var list []controller.Notice
	for _, id := range ids {
		list = append(list, controller.Notice{ID: id, Kind: controller.NoticeNotReady, Controller: name, Key: "a", Message: "no"})
	}
	head, err := k.Store.Head(k.Context())
	k.must(err)
	k.must(k.Store.QueueNotices(k.Context(), hook, list, head))
}

// notices are the IDs of what has to be told.
func (k *kit) notices(hook string) (ids []string) {
	k.Helper()
	list, err := k.Store.Notices(k.Context(), hook, 0)
	k.must(err)
	for _, n := range list {
		ids = append(ids, n.ID)
	}
	return ids
}

func noticeTold(k *kit) {
	cursor, err := k.Store.NoticeCursor(k.Context(), hook)
	k.must(err)
	equal(k, "cursor at first", cursor, "")
	k.put("a", `{}`)
	k.tell("1", "2", "1")
	head, err := k.Store.Head(k.Context())
	k.must(err)
	cursor, err = k.Store.NoticeCursor(k.Context(), hook)
	k.must(err)
	equal(k, "cursor", cursor, head)
	equal(k, "to tell", k.notices(hook), []string{"1", "2"})
	for range 2 {
		k.must(k.Store.EndNotice(k.Context(), hook, "1", controller.NoticeEnd{Told: true}))
	}
	k.tell("1")
	equal(k, "to tell", k.notices(hook), []string{"2"})
	k.Advance(controller.NoticeMemory + time.Hour)
	k.tell() // forgets
	k.tell("1")
	equal(k, "to tell after the memory", k.notices(hook), []string{"2", "1"})
}

func noticeAgain(k *kit) {
	k.tell("1")
	k.must(k.Store.EndNotice(k.Context(), hook, "1", controller.NoticeEnd{After: time.Hour, Err: "nobody there"}))
	list, err := k.Store.Notices(k.Context(), hook, 0)
	k.must(err)
	if len(list) != 1 || list[0].Attempts != 1 || list[0].LastError != "nobody there" || list[0].Message != "no" {
		k.Fatalf("notices %+v", list)
	}
	k.tell("2")
	equal(k, "order", k.notices(hook), []string{"2", "1"})
	k.must(k.Store.EndNotice(k.Context(), hook, "never", controller.NoticeEnd{Told: true}))
}

func noticeOfHook(k *kit) {
	k.tell("1")
	equal(k, "of another hook", k.notices("other"), nil)
	equal(k, "of another project", k.peer("other").notices(hook), nil)
	if err := k.Store.QueueNotices(k.Context(), "No Name", nil, ""); err == nil {
		k.Error("a hook with a bad name was taken")
	}
}
