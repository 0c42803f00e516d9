//! Where the log ends, and whether all of it is there: the damage rule.
//!
//! Groups are strictly serial: group `g` is durable before `g + 1` is written. So of an incarnation
//!
//! ```text
//!  valid … valid │ invalid, and nothing valid behind it      torn: the log ends at │
//!  valid … valid │ invalid … valid                           damage at │
//!  valid … valid │ and a later incarnation's cut is behind   damage at │
//! ```
//! A file that is shorter than its header says is damage in any case.
//!
//! Only the headers of the groups are read here, and the whole of the last one. The others are checked when
//! they are replayed.

use crate::disk::{Disk, File};
use crate::error::{IoContext, LogError, Result};
use crate::layout::{Cut, GROUP_HEADER, GroupHeader, PAGE, Seed, SegmentHeader, blocks};
use crate::manifest::Manifest;
use crate::name::{self, Name};
use crate::record::RecordPosition;
use crate::rules::Rule;
use scaledb_base::Timestamp;

/// A segment with groups that count.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    pub(crate) number: u64,
    pub(crate) incarnation: u64,
    /// The number of its first group.
    pub(crate) first_group: u64,
    pub(crate) groups: u64,
    /// Where its groups end.
    pub(crate) end: u64,
    pub(crate) file_bytes: u64,
    /// The largest commit_ts in it.
    pub(crate) newest: Timestamp,
    /// Transactions of its incarnation at or above it are gone.
    pub(crate) cut: Timestamp,
}

/// What the log consists of.
#[derive(Debug, Clone)]
pub(crate) struct Scan {
    /// In the order of their numbers.
    pub(crate) segments: Vec<Segment>,
    /// Segments without a group that counts.
    pub(crate) void: Vec<u64>,
    /// The last segment, if it was prepared and never used: an opening may take it for another use, and end
    /// halfway. Any other void segment would then be a hole.
    pub(crate) unused: Option<u64>,
    /// The horizon of the last group.
    pub(crate) horizon: Timestamp,
    /// At or above every timestamp in the log.
    pub(crate) newest: Timestamp,
    /// What the next incarnation names as its cut.
    pub(crate) cut: Cut,
    /// The last group: its segment, offset and length.
    pub(crate) last: Option<(u64, u64, u64)>,
    /// The largest numbers in use.
    pub(crate) number: u64,
    pub(crate) incarnation: u64,
}

/// A segment whose header was read.
struct Headed {
    header: SegmentHeader,
    len: u64,
}

/// An open segment with what its groups are checked against.
pub(crate) struct OpenSegment {
    pub(crate) name: String,
    pub(crate) file: Box<dyn File>,
    pub(crate) seed: Seed,
    len: u64,
}

impl OpenSegment {
    pub(crate) fn open(disk: &dyn Disk, manifest: &Manifest, number: u64) -> Result<Self> {
        let name = name::segment(number);
        let file = disk.open(&name).context("open", &name)?;
        let len = file.len().context("read", &name)?;
        Ok(Self { name, file, seed: Seed::new(manifest.database, number), len })
    }

    /// The header of the group at `offset`, if there is one.
    pub(crate) fn group(&self, offset: u64) -> Result<Option<GroupHeader>> {
        if self.len.saturating_sub(offset) < PAGE as u64 {
            return Ok(None);
        }
        let mut bytes = [0; GROUP_HEADER];
        self.file.read_at(&mut bytes, offset).context("read", &self.name)?;
        Ok(GroupHeader::decode(&bytes, self.seed, self.len - offset))
    }

    /// The whole group at `offset`.
    pub(crate) fn bytes(&self, offset: u64, group: &GroupHeader) -> Result<Vec<u8>> {
        let mut bytes = vec![0; group.length as usize];
        self.file.read_at(&mut bytes, offset).context("read", &self.name)?;
        Ok(bytes)
    }

    /// Whether all of the group is as it was written.
    fn intact(&self, offset: u64, group: &GroupHeader) -> Result<bool> {
        let bytes = self.bytes(offset, group)?;
        // the header may have been read at another moment than the rest, from a log that is being written
        let same = GroupHeader::decode(&bytes, self.seed, group.length) == Some(*group);
        Ok(same && blocks(group, self.seed, &bytes).is_ok())
    }

    /// Whether some group of the incarnation, with a number from `from` on, stands at or behind `offset`.
    fn any_group(&self, mut offset: u64, incarnation: u64, from: u64) -> Result<bool> {
        const CHUNK: u64 = 1 << 20;
        let mut chunk = Vec::new();
        while offset < self.len {
            let len = CHUNK.min(self.len - offset);
            chunk.resize(len as usize, 0);
            self.file.read_at(&mut chunk, offset).context("read", &self.name)?;
            for (page, bytes) in chunk.chunks(PAGE).enumerate() {
                let limit = self.len - offset - (page * PAGE) as u64;
                let group = GroupHeader::decode(bytes, self.seed, limit);
                if group.is_some_and(|group| group.incarnation == incarnation && group.number >= from) {
                    return Ok(true);
                }
            }
            offset += len;
        }
        Ok(false)
    }
}

/// The state of a walk along the groups of one incarnation.
struct Walk {
    segment: u64,
    offset: u64,
    /// The number of the next group; `None` before the first group of a log whose front was removed.
    expected: Option<u64>,
    horizon: Timestamp,
    last: Option<(u64, u64, GroupHeader)>,
}

/// Finds out what the log consists of.
///
/// # Errors
/// [`LogError::Damaged`] by the damage rule; [`LogError::NewerFormat`], [`LogError::OlderFormat`]; [`LogError::Io`].
pub(crate) fn scan(disk: &dyn Disk, manifest: &Manifest) -> Result<Scan> {
    let headed = read_headers(disk, manifest)?;
    let first = manifest.first_segment;
    let checkpoint = manifest.checkpoint.as_ref().map_or(Timestamp::ZERO, |checkpoint| checkpoint.newest);
    let mut scan = Scan {
        segments: Vec::new(),
        void: Vec::new(),
        unused: None,
        horizon: Timestamp::ZERO,
        newest: manifest.required.max(checkpoint),
        cut: Cut::default(),
        last: None,
        number: headed.last().map_or(first - 1, |last| last.header.number),
        incarnation: headed.iter().map(|s| s.header.incarnation).fold(manifest.incarnation, u64::max),
    };
    let incarnations = incarnations(&headed, manifest)?;
    for (i, &(from, to)) in incarnations.iter().enumerate() {
        let segments = &headed[from..to];
        let next = incarnations.get(i + 1).map(|next| headed[next.0].header.cut);
        scan.incarnation(disk, manifest, segments, next)?;
    }
    let alive: Vec<u64> = scan.segments.iter().map(|segment| segment.number).collect();
    scan.void = headed.iter().map(|s| s.header.number).filter(|number| !alive.contains(number)).collect();
    // that an incarnation has begun is known by its first segment alone: that one is not unused
    let prepared = headed.last().filter(|last| last.header.number > last.header.first);
    scan.unused = prepared.map(|last| last.header.number).filter(|number| scan.void.contains(number));
    if scan.horizon < manifest.required {
        let last = scan.segments.last().map_or(first, |last| last.number);
        return Err(LogError::damaged(
            name::segment(last),
            scan.segments.last().map_or(0, |last| last.end),
            format!("the log ends at {:?}, and reached {:?} once", scan.horizon, manifest.required),
        ));
    }
    scan.newest = scan.newest.max(scan.horizon);
    Ok(scan)
}

fn read_headers(disk: &dyn Disk, manifest: &Manifest) -> Result<Vec<Headed>> {
    let names = disk.list().context("list", &disk.describe())?;
    let mut numbers: Vec<u64> = names
        .iter()
        .filter_map(|name| match Name::parse(name) {
            Name::Segment(number) if number >= manifest.first_segment => Some(number),
            _ => None,
        })
        .collect();
    numbers.sort_unstable();
    let mut headed = Vec::with_capacity(numbers.len());
    for number in numbers {
        let segment = OpenSegment::open(disk, manifest, number)?;
        let mut page = vec![0; segment.len.min(PAGE as u64) as usize];
        segment.file.read_at(&mut page, 0).context("read", &segment.name)?;
        let header = SegmentHeader::decode(&page, &segment.name, manifest.database, number)?;
        headed.push(Headed { header, len: segment.len });
    }
    Ok(headed)
}

/// Follows the cuts back from the last incarnation: which segments each of them consists of.
fn incarnations(headed: &[Headed], manifest: &Manifest) -> Result<Vec<(usize, usize)>> {
    let first = manifest.first_segment;
    let missing = |number: u64| LogError::damaged(name::segment(number), 0, "the segment is missing");
    let mut found = Vec::new();
    let Some(last) = headed.last() else {
        return if manifest.incarnation == 0 { Ok(found) } else { Err(missing(first)) };
    };
    if last.header.incarnation < manifest.incarnation {
        return Err(missing(last.header.number + 1));
    }
    let mut end = headed.len();
    while let Some(last) = headed[..end].last() {
        let SegmentHeader { incarnation, first: begin, cut, number, .. } = last.header;
        let start = begin.max(first);
        let from = headed[..end].partition_point(|s| s.header.number < start);
        for (segment, expected) in headed[from..end].iter().zip(start..) {
            let header = &segment.header;
            if header.number != expected {
                return Err(missing(expected));
            }
            if (header.incarnation, header.first, header.cut) != (incarnation, begin, cut) {
                let what = "the segment does not belong to those behind it";
                return Err(LogError::damaged(name::segment(expected), 0, what));
            }
        }
        if (end - from) as u64 != number - start + 1 {
            return Err(missing(start));
        }
        found.push((from, end));
        if cut.segment < first {
            // segments without groups may stand in front until the manifest has left them behind
            if headed[0].header.number != first {
                return Err(missing(first));
            }
            break;
        }
        // what stands between the cut and the incarnation behind it counts for nothing
        end = headed[..from].partition_point(|s| s.header.number <= cut.segment);
        if headed[..end].last().is_none_or(|last| last.header.number != cut.segment) {
            return Err(missing(cut.segment));
        }
    }
    found.reverse();
    Ok(found)
}

/// # Errors
/// A segment is shorter than it was made. A crash does not do this: a segment is synced in its full length before
/// it gets its name, and only an opening that names its end as the cut makes it shorter. Without this check a file
/// that has lost its end looks like one whose end is torn.
fn whole_files(headed: &[Headed]) -> Result<()> {
    for Headed { header, len } in headed {
        if *len < header.length {
            let what =
                format!("the file has {len} bytes, and was made with {}: its end is lost", header.length);
            return Err(LogError::damaged(name::segment(header.number), *len, what));
        }
    }
    Ok(())
}

impl Scan {
    /// Walks one incarnation. `next` is the cut of the incarnation behind it.
    fn incarnation(
        &mut self,
        disk: &dyn Disk,
        manifest: &Manifest,
        headed: &[Headed],
        next: Option<Cut>,
    ) -> Result<()> {
        let Some(Headed { header, .. }) = headed.first() else { return Ok(()) };
        let whole = header.number == header.first;
        let limit = next.map(|cut| (cut.segment, cut.offset));
        let (mut walk, mut segments) = Walk::along(disk, manifest, headed, limit)?;
        match next {
            Some(cut) => walk.ends_at(cut, disk, manifest, headed)?,
            None => {
                if Rule::Length.holds() {
                    whole_files(headed)?;
                }
                if Rule::NothingFollows.holds() {
                    walk.nothing_follows(disk, manifest, headed)?;
                }
                // the last group may be torn; the one before it was durable when this one was written
                if let Some((segment, offset, group)) = walk.last
                    && !OpenSegment::open(disk, manifest, segment)?.intact(offset, &group)?
                {
                    (walk, segments) = Walk::along(disk, manifest, headed, Some((segment, offset)))?;
                }
                self.horizon = walk.horizon;
                // an incarnation without groups leaves the cut as it was
                self.cut = match walk.last {
                    Some(_) => Cut { segment: walk.segment, offset: walk.offset, horizon: walk.horizon },
                    None => header.cut,
                };
            }
        }
        if walk.last.is_none() && !whole {
            let what = "the log begins with a group that is not as it was written";
            return Err(LogError::damaged(name::segment(header.number), PAGE as u64, what));
        }
        self.newest = segments.iter().map(|s| s.newest).fold(self.newest.max(walk.horizon), Timestamp::max);
        if let Some((segment, offset, group)) = walk.last {
            self.last = Some((segment, offset, group.length));
            let cut = next.map_or(walk.horizon, |next| next.horizon);
            self.segments.extend(segments.into_iter().map(|segment| Segment { cut, ..segment }));
        }
        Ok(())
    }
}

impl Walk {
    /// Walks up to the first place where there is no next group, or to `limit`: a segment, and an offset in it.
    fn along(
        disk: &dyn Disk,
        manifest: &Manifest,
        headed: &[Headed],
        limit: Option<(u64, u64)>,
    ) -> Result<(Self, Vec<Segment>)> {
        let header = headed[0].header;
        let mut walk = Self {
            segment: header.number,
            offset: PAGE as u64,
            expected: (header.number == header.first).then_some(1),
            horizon: header.cut.horizon,
            last: None,
        };
        let mut segments: Vec<Segment> = Vec::new();
        for segment in headed {
            let number = segment.header.number;
            if limit.is_some_and(|limit| limit.0 < number) {
                break;
            }
            let open = OpenSegment::open(disk, manifest, number)?;
            let end = limit.filter(|limit| limit.0 == number).map(|limit| limit.1);
            let (first_group, groups, newest) = walk.segment(&open, segment, end)?;
            // what follows a segment without groups was prepared, or comes after damage
            if groups == 0 {
                break;
            }
            segments.push(Segment {
                number,
                incarnation: header.incarnation,
                first_group,
                groups,
                end: walk.offset,
                file_bytes: segment.len,
                newest,
                cut: Timestamp::MAX,
            });
        }
        Ok((walk, segments))
    }

    /// Walks the groups of one segment. Returns the number of the first, how many there are, and the newest
    /// timestamp.
    fn segment(
        &mut self,
        open: &OpenSegment,
        segment: &Headed,
        end: Option<u64>,
    ) -> Result<(u64, u64, Timestamp)> {
        let (mut offset, mut groups, mut newest) = (PAGE as u64, 0, Timestamp::ZERO);
        let mut first_group = self.expected.unwrap_or(0);
        while end.is_none_or(|end| offset < end) {
            let Some(group) = open.group(offset)? else { break };
            // in front of the first group of what is left of the log, any number is right
            let fits = self.expected.is_none_or(|expected| group.number == expected);
            if group.incarnation != segment.header.incarnation || !fits {
                break;
            }
            if group.horizon < self.horizon {
                let what = "the horizon of a group lies before that of the group in front of it";
                return Err(LogError::damaged(&open.name, offset, what));
            }
            if groups == 0 {
                first_group = group.number;
            }
            (self.segment, self.expected) = (segment.header.number, Some(group.number + 1));
            self.horizon = group.horizon;
            self.last = Some((segment.header.number, offset, group));
            newest = newest.max(group.newest);
            offset += group.length;
            self.offset = offset;
            groups += 1;
        }
        Ok((first_group, groups, newest))
    }

    /// # Errors
    /// Groups with higher numbers: the log does not end here.
    fn nothing_follows(&self, disk: &dyn Disk, manifest: &Manifest, headed: &[Headed]) -> Result<()> {
        let at = headed.iter().position(|s| s.header.number == self.segment).unwrap_or(0);
        let mut from = self.offset;
        for segment in &headed[at..] {
            let open = OpenSegment::open(disk, manifest, segment.header.number)?;
            let expected = self.expected.unwrap_or(1);
            if open.any_group(from, segment.header.incarnation, expected)? {
                // a log that is being written goes on while it is read: then the group is there by now
                let here = OpenSegment::open(disk, manifest, self.segment)?;
                let mut places = vec![here.group(self.offset)?];
                if let Some(next) = headed.get(at + 1) {
                    let next = OpenSegment::open(disk, manifest, next.header.number)?;
                    places.push(next.group(PAGE as u64)?);
                }
                if !places.iter().flatten().any(|group| group.number == expected) {
                    let what = "a group is not as it was written, and others follow it";
                    return Err(self.gap(disk, manifest, headed, segment.header.number)?.damaged(what));
                }
                return Ok(());
            }
            from = PAGE as u64;
        }
        Ok(())
    }

    /// # Errors
    /// The incarnation behind this one says that it ended elsewhere.
    fn ends_at(&self, cut: Cut, disk: &dyn Disk, manifest: &Manifest, headed: &[Headed]) -> Result<()> {
        if (self.segment, self.offset) != (cut.segment, cut.offset) {
            let what = "a group is not as it was written, and a later opening of the database has read it";
            return Err(self.gap(disk, manifest, headed, cut.segment)?.damaged(what));
        }
        if self.last.is_some() && self.horizon != cut.horizon {
            let what = "the last group has another horizon than a later opening has read";
            return Err(LogError::damaged(name::segment(self.segment), self.offset, what));
        }
        Ok(())
    }

    /// Where the group is missing that comes next, when groups behind it are in the segment `seen`: here, or
    /// at the front of the next segment.
    fn gap(
        &self,
        disk: &dyn Disk,
        manifest: &Manifest,
        headed: &[Headed],
        seen: u64,
    ) -> Result<RecordPosition> {
        let here = RecordPosition { segment: self.segment, offset: self.offset };
        let next = headed.iter().map(|s| s.header.number).find(|&number| number > self.segment);
        let Some(next) = next.filter(|&next| next <= seen) else { return Ok(here) };
        let front = OpenSegment::open(disk, manifest, next)?.group(PAGE as u64)?;
        Ok(if front.is_some() { here } else { RecordPosition { segment: next, offset: PAGE as u64 } })
    }
}
